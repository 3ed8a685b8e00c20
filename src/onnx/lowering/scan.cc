// Running sums, and orders.
#include <limits>

#include "onnx/lowering/families.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

void cumsum(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const DType result = node.result()->dtype();
  const Operand typed = context.operand(node.argument(0), result);
  if (self->rank() == 0) return context.define(node.result(), typed);
  const Operand x = context.convert(typed, wide_dtype(result));
  const std::int64_t axis = passes::wrap_dimension(node.argument("dim").integer(), self->rank());
  context.define(node.result(), context.emit("CumSum", {x, context.number(axis, DType::kInt64)}));
}

/// NaN is above infinity in PyTorch, and anywhere in ONNX.
Operand order_keys(LoweringContext& context, Operand x) {
  if (!is_floating_point(x.dtype)) return x;
  const Operand is_nan = context.emit("IsNaN", {x}, DType::kBool);
  const Operand infinity = context.number(std::numeric_limits<double>::infinity(), x.dtype);
  return context.where(is_nan, infinity, x);
}

/// The first `count` along the node's `dim`, in order; of equal ones the first first, as in a
/// stable sort.
void take_in_order(const Node& node, LoweringContext& context, const Dim& count, bool largest) {
  const Value* self = node.input(0);
  Operand x = context.operand(node.argument(0), wide_dtype(self->dtype()));
  const bool is_number = self->rank() == 0;
  if (is_number) x = context.unsqueeze(x, {0});
  const std::int64_t axis = passes::wrap_dimension(node.argument("dim").integer(), self->rank());
  const std::vector<Operand> ordered = context.builder().add_node(
      "TopK", {order_keys(context, x), context.size(count)}, {x.dtype, DType::kInt64},
      {{"axis", axis}, {"largest", std::int64_t{largest}}, {"sorted", std::int64_t{1}}});
  const auto define = [&](int index, Operand result) {
    if (is_number) result = context.squeeze(result, {0});
    context.define(node.result(index), result);
  };
  define(0, context.emit("GatherElements", {x, ordered[1]}, {{"axis", axis}}));
  define(1, ordered[1]);
}

void topk(const Node& node, LoweringContext& context) {
  take_in_order(node, context, node.argument("k").dim(), node.argument("largest").boolean());
}

void sort(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const std::int64_t axis = passes::wrap_dimension(node.argument("dim").integer(), self->rank());
  take_in_order(node, context, self->rank() == 0 ? Dim(1) : self->size(axis),
                node.argument("descending").boolean());
}

constexpr LoweringRow kRows[] = {{"aten.cumsum.default", cumsum},
                                 {"aten.sort.default", sort},
                                 {"aten.sort.stable", sort},
                                 {"aten.topk.default", topk}};

}  // namespace

std::span<const LoweringRow> scan_lowerings() { return kRows; }

}  // namespace unfuse::onnx
