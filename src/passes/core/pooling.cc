// Pooling in its core forms.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

Replacement max_pool2d(RewriteContext& at, const Node& node) {
  TensorType indices = node.result()->tensor();
  indices.dtype = DType::kInt64;
  return replace_by(first_result(at.builder, node, "aten.max_pool2d_with_indices.default",
                                 node.arguments(), {node.result()->type(), indices}));
}

Replacement adaptive_avg_pool2d(RewriteContext& at, const Node& node) {
  return at.become(node, "aten._adaptive_avg_pool2d.default", {node.input(0), node.argument(1)});
}

constexpr RewriteRow kRows[] = {{"aten.max_pool2d.default", max_pool2d},
                                {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool2d}};

}  // namespace

std::span<const RewriteRow> core_pooling() { return kRows; }

}  // namespace unfuse::passes
