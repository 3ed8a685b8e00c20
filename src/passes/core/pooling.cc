// Pooling in its core forms.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

Replacement with_indices(RewriteContext& at, const Node& node, std::string_view op) {
  TensorType indices = node.result()->tensor();
  indices.dtype = DType::kInt64;
  return replace_by(
      make_node(at.builder, node, op, node.arguments(), {node.result()->type(), indices})
          ->result());
}

Replacement max_pool2d(RewriteContext& at, const Node& node) {
  return with_indices(at, node, "aten.max_pool2d_with_indices.default");
}

Replacement max_pool3d(RewriteContext& at, const Node& node) {
  return with_indices(at, node, "aten.max_pool3d_with_indices.default");
}

Replacement adaptive_avg_pool2d(RewriteContext& at, const Node& node) {
  return at.become(node, "aten._adaptive_avg_pool2d.default", {node.input(0), node.argument(1)});
}

Replacement adaptive_avg_pool3d(RewriteContext& at, const Node& node) {
  return at.become(node, "aten._adaptive_avg_pool3d.default", {node.input(0), node.argument(1)});
}

constexpr RewriteRow kRows[] = {{"aten.max_pool2d.default", max_pool2d},
                                {"aten.max_pool3d.default", max_pool3d},
                                {"aten.adaptive_avg_pool3d.default", adaptive_avg_pool3d},
                                {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool2d}};

}  // namespace

std::span<const RewriteRow> core_pooling() { return kRows; }

}  // namespace unfuse::passes
