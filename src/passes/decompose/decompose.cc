#include "passes/decompose/decompose.h"

#include <unordered_map>

#include "passes/decompose/decompositions.h"
#include "passes/rewrite.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

constexpr DecompositionRow kRows[] = {
    {"aten._native_multi_head_attention.default", native_multi_head_attention},
    {"aten._transformer_encoder_layer_fwd.default", transformer_encoder_layer_fwd},
    {"aten.scaled_dot_product_attention.default", scaled_dot_product_attention},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", flash_attention_for_cpu},
    {"aten._scaled_dot_product_attention_math.default", attention_math},
    {"aten._scaled_dot_product_flash_attention.default", gpu_attention},
    {"aten._scaled_dot_product_efficient_attention.default", gpu_attention},
    {"aten._scaled_dot_product_cudnn_attention.default", gpu_attention},
    {"aten._scaled_dot_product_fused_attention_overrideable.default", gpu_attention},
};

Decomposition find_decomposition(const Node& node) {
  static const auto* const table = [] {
    auto* rows = new std::unordered_map<std::string_view, Decomposition>;
    for (const DecompositionRow& row : kRows) rows->emplace(row.op, row.decompose);
    return rows;
  }();
  if (node.op().opaque()) return nullptr;
  const auto found = table->find(node.op().name);
  return found == table->end() ? nullptr : found->second;
}

void check_same(const Node& node, const Value& recorded, const Value& built) {
  if (!recorded.is_tensor()) return;
  if (built.dtype() == recorded.dtype() && built.rank() == recorded.rank()) {
    bool same = true;
    for (std::int64_t i = 0; i < built.rank(); ++i) {
      same = same && equal(built.size(i), recorded.size(i)) != Answer::kNo;
    }
    if (same) return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              "opened, this gives " + to_string(built.type()) + " where " +
                  to_string(recorded.type()) + " was recorded",
              node.where(), "if PyTorch itself recorded that, please report this");
}

// A result that is None: outputs become None, and nothing else may use it.
void replace_by_none(Graph& graph, const Node& node, const Value* result) {
  if (!result->uses().empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "result " + std::to_string(result->index()) + " is None here, but " +
                    result->uses().front().node->where() + " uses it",
                node.where());
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Argument& output = graph.outputs()[i].value;
    if (output.is_value() && output.value() == result) graph.set_output(i, nullptr);
  }
}

// A value that was built for this result takes its type, with the strides that eager gives, and its
// name; one that was there before, such as an input that is handed through, stays as it is.
void replace_result(Graph& graph, Node* node, Value* recorded, Value* built) {
  if (built == nullptr) return replace_by_none(graph, *node, recorded);
  check_same(*node, *recorded, *built);
  const bool fresh = built->producer() != nullptr && built->use_count() == 0;
  if (!fresh) {
    replace_by_equal(graph, recorded, built, node);
    return;
  }
  built->set_type(recorded->type());
  graph.replace_all_uses(recorded, built);
  const std::string name = recorded->name();
  graph.rename(recorded, name + "_opened");
  graph.rename(built, name);
}

}  // namespace

void DecomposeContext::refuse(const std::string& message) const {
  throw Error(ErrorKind::kInvalidArgument, message, node.where(), "PyTorch refuses this call too");
}

bool DecomposeContext::differ(const Dim& left, const Dim& right) const {
  return equal(left, right, builder.graph().symbols) == Answer::kNo;
}

bool open_node(Graph& graph, Node* node, const CompileOptions& options, Report& report,
               NodeNotes& notes, bool sdpa_semantics) {
  const Decomposition decomposition = find_decomposition(*node);
  if (decomposition == nullptr) return false;
  Builder builder(graph, node);
  const DecomposeContext context{builder, options, notes, *node, sdpa_semantics};
  const std::vector<Value*> results = decomposition(context, *node);
  if (results.empty()) return false;
  if (results.size() != node->results().size()) {
    throw Error(ErrorKind::kInternal, "opened, this has another number of results", node->where());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    replace_result(graph, node, node->results()[i], results[i]);
  }
  if (node->op().traits.fused) ++report.opened[node->op().name];
  graph.erase(node);
  return true;
}

void decompose(Graph& graph, const CompileOptions& options, Report& report) {
  NodeNotes notes;
  bool opened = true;
  while (opened) {
    opened = false;
    for (Node* node : graph.nodes()) {
      opened = open_node(graph, node, options, report, notes) || opened;
    }
  }
  notes.add_to(report);
}

std::span<const DecompositionRow> decompositions() { return kRows; }

}  // namespace unfuse::passes
