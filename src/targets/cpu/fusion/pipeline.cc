#include <cstdlib>
#include <utility>

#include "ir/verify.h"
#include "passes/passes.h"
#include "passes/recognize_attention.h"
#include "targets/cpu/fusion/fusion.h"

namespace unfuse::cpu {
namespace {

using Notes = std::vector<std::string>;

struct Pass {
  const char* name;
  void (*apply)(Graph& graph, const CompileOptions& options, Notes& notes);
  bool can_be_skipped = true;
};

template <void (*kApply)(Graph& graph)>
void plain(Graph& graph, const CompileOptions& /*options*/, Notes& /*notes*/) {
  kApply(graph);
}

void recognize_attention(Graph& graph, const CompileOptions& options, Notes& /*notes*/) {
  passes::recognize_attention(graph, passes::AttentionSpelling::kAnySoftmax, options);
}

void multiply_narrow(Graph& graph, const CompileOptions& options, Notes& /*notes*/) {
  multiply_bfloat16(graph, options.arithmetic);
}

void pack_padding(Graph& graph, const CompileOptions& /*options*/, Notes& notes) {
  for (std::string& note : pack_padded_rows(graph)) notes.push_back(std::move(note));
}

// Attention is looked for in the dtype that the model has: roundings between its parts would stand
// in the way afterwards.
constexpr Pass kPasses[] = {
    {"recognize_attention", recognize_attention},
    {"multiply_bfloat16", multiply_narrow},
    {"widen", plain<widen>, false},
    {"recognize_rms_norm", plain<recognize_rms_norm>},
    {"order_linear_rows", plain<order_linear_rows>},
    // Dead readers of rows, as recognized attention leaves them, would have the rows computed.
    {"eliminate_dead_code", plain<passes::eliminate_dead_code>, false},
    {"pack_padded_rows", pack_padding},
    {"pack_projections", plain<pack_projections>},
    {"fuse_linear_epilogues", plain<fuse_linear_epilogues>},
    {"fuse_residual_norm", plain<fuse_residual_norm>},
    {"eliminate_dead_code", plain<passes::eliminate_dead_code>, false},
};

}  // namespace

bool is_fusion_skipped(std::string_view pass) {
  const char* variable = std::getenv("UNFUSE_SKIP_FUSION");
  if (variable == nullptr) return false;
  std::string_view rest = variable;
  if (rest == "all") return true;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == pass) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

std::vector<std::string> run_fusion_pipeline(Graph& graph, const CompileOptions& options) {
  Notes notes;
  for (const Pass& pass : kPasses) {
    if (pass.can_be_skipped && is_fusion_skipped(pass.name)) continue;
    pass.apply(graph, options, notes);
    verify_where_wanted(graph, pass.name);
  }
  return notes;
}

}  // namespace unfuse::cpu
