// Choosing between values by a mask.
#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"

namespace unfuse::onnx {
namespace {

void where(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  const Operand condition = to_bool(context, context.operand(node.input(0)));
  const Operand chosen = context.operand(node.argument(1), dtype);
  const Operand other = context.operand(node.argument(2), dtype);
  context.define(node.result(), context.where(condition, chosen, other));
}

void masked_fill(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  const Operand mask = to_bool(context, context.operand(node.argument("mask").value()));
  const Operand value = context.operand(node.argument("value"), dtype);
  const Operand self = context.operand(node.argument(0), dtype);
  context.define(node.result(), context.where(mask, value, self));
}

constexpr LoweringRow kRows[] = {
    {"aten.where.self", where},
    {"aten.where.Scalar", where},
    {"aten.where.ScalarSelf", where},
    {"aten.where.ScalarOther", where},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
};

}  // namespace

std::span<const LoweringRow> selection_lowerings() { return kRows; }

}  // namespace unfuse::onnx
