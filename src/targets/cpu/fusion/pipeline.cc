#include <cstdlib>

#include "ir/verify.h"
#include "passes/passes.h"
#include "targets/cpu/fusion/fusion.h"

namespace unfuse::cpu {
namespace {

struct Pass {
  const char* name;
  void (*apply)(Graph& graph);
  bool can_be_skipped = true;
};

constexpr Pass kPasses[] = {
    {"widen", widen, false},
    {"fuse_linear_epilogues", fuse_linear_epilogues},
    {"eliminate_dead_code", passes::eliminate_dead_code, false},
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

void run_fusion_pipeline(Graph& graph, const CompileOptions&) {
  for (const Pass& pass : kPasses) {
    if (pass.can_be_skipped && is_fusion_skipped(pass.name)) continue;
    pass.apply(graph);
#ifndef NDEBUG
    verify(graph, pass.name);
#endif
  }
}

}  // namespace unfuse::cpu
