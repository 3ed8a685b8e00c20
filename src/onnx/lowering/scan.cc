// Running sums.
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

constexpr LoweringRow kRows[] = {{"aten.cumsum.default", cumsum}};

}  // namespace

std::span<const LoweringRow> scan_lowerings() { return kRows; }

}  // namespace unfuse::onnx
