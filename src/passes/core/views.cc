// reshape, as a view of something contiguous.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

// Ops that write their result row by row, whatever lies in front of them.
bool gives_contiguous(std::string_view op) {
  for (const std::string_view known :
       {"aten.mm.default", "aten.bmm.default", "aten.addmm.default", "aten.embedding.default",
        "aten.full.default", "aten.arange.start_step", "aten.index_select.default",
        "aten.native_layer_norm.default"}) {
    if (op == known) return true;
  }
  return false;
}

constexpr int kFollowed = 16;

// Whether eager PyTorch lays the value out contiguous, as far as that can be told.
bool lies_contiguous(const Graph& graph, const Value* value, int budget = kFollowed) {
  const Node* node = value->producer();
  if (node == nullptr) {
    // A caller may pass a tensor that lies otherwise than the one that was exported with.
    const GraphInput* input = graph.input_of(value);
    return input != nullptr && input->kind != InputKind::kUser && value->tensor().is_contiguous();
  }
  if (budget == 0) return false;
  if (node->is("aten.clone.default")) return !node->argument("memory_format").is_none();
  if (node->is("aten.view.default")) return true;     // view() below made it
  if (node->is("aten.reshape.default")) return true;  // and will make this
  if (gives_contiguous(node->op().name)) return true;
  const bool follows = node->op().traits.pointwise || node->is("aten.cat.default");
  if (!follows || node->results().size() != 1) return false;
  // Of operands that all lie contiguous, so does what is as large as one of them.
  bool as_large = false;
  for (const Value* operand : node->operands()) {
    if (!operand->is_tensor()) continue;
    if (!lies_contiguous(graph, operand, budget - 1)) return false;
    as_large = as_large || operand->sizes() == value->sizes();
  }
  return as_large || node->is("aten.cat.default");
}

Replacement reshaped(RewriteContext& at, const Node& node) {
  return replace_by(view(at.builder, node.input(0), node.result()->sizes()));
}

constexpr RewriteRow kRows[] = {{"aten.reshape.default", reshaped}};

}  // namespace

Value* contiguous(Builder& builder, Value* value) {
  if (lies_contiguous(builder.graph(), value)) return value;
  return call(builder, "aten.clone.default", {value},
              {{"memory_format", MemoryFormat::kContiguous}});
}

Value* view(Builder& builder, Value* value, const std::vector<Dim>& sizes) {
  if (value->sizes() == sizes) return value;
  return call(builder, "aten.view.default", {contiguous(builder, value), sizes});
}

std::span<const RewriteRow> core_views() { return kRows; }

}  // namespace unfuse::passes
