// Softmax and its kin.
#include "onnx/lowering/softmax.h"

#include <limits>

#include "onnx/lowering/families.h"
#include "passes/canonical.h"

namespace unfuse::onnx {

Operand softmax(LoweringContext& context, Operand scores, std::int64_t axis) {
  return context.emit("Softmax", {scores}, {{"axis", axis}});
}

Operand where_any_score(LoweringContext& context, Operand scores, std::int64_t axis, Operand values,
                        double otherwise) {
  const Operand largest = context.reduce("ReduceMax", scores, {axis});
  const Operand nothing = context.number(-std::numeric_limits<double>::infinity(), scores.dtype);
  const Operand is_empty = context.emit("Equal", {largest, nothing}, DType::kBool);
  return context.where(is_empty, context.number(otherwise, values.dtype), values);
}

namespace {

enum class Kind { kSoftmax, kLogSoftmax, kSafeSoftmax };

template <Kind kKind>
void lower(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const DType dtype = wide_dtype(node.result()->dtype());
  Operand scores = context.operand(node.argument(0), dtype);
  if (self->rank() == 0) scores = context.reshape(scores, {}, {1});
  const std::int64_t axis = passes::wrap_dimension(node.argument("dim").integer(), self->rank());
  Operand result;
  if (kKind == Kind::kLogSoftmax) {
    result = context.emit("LogSoftmax", {scores}, {{"axis", axis}});
  } else {
    result = softmax(context, scores, axis);
  }
  if (kKind == Kind::kSafeSoftmax) result = where_any_score(context, scores, axis, result, 0);
  if (self->rank() == 0) result = context.reshape(result, {1}, {});
  context.define(node.result(), result);
}

constexpr LoweringRow kRows[] = {
    {"aten.softmax.int", lower<Kind::kSoftmax>},
    {"aten.log_softmax.int", lower<Kind::kLogSoftmax>},
    {"aten._safe_softmax.default", lower<Kind::kSafeSoftmax>},
};

}  // namespace

std::span<const LoweringRow> softmax_lowerings() { return kRows; }

}  // namespace unfuse::onnx
