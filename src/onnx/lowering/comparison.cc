// Comparisons and logic: the result is a bool, computed in the operands' promoted type.
#include <span>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"
#include "ops/promotion.h"

namespace unfuse::onnx {
namespace {

constexpr OpName kEqual{"Equal"}, kLess{"Less"}, kLessOrEqual{"LessOrEqual"}, kGreater{"Greater"},
    kGreaterOrEqual{"GreaterOrEqual"}, kAnd{"And"}, kOr{"Or"}, kXor{"Xor"};

template <const OpName& kOp, bool kNegated = false>
void compare(const Node& node, LoweringContext& context) {
  const DType dtype = ops::result_dtype(std::span(node.arguments()).first(2));
  const DType computed = arithmetic_dtype(dtype);
  const Operand left = context.operand(node.argument(0), dtype, computed);
  const Operand right = context.operand(node.argument(1), dtype, computed);
  const Operand result = context.emit(kOp.text, {left, right}, DType::kBool);
  context.define(node.result(), kNegated ? context.emit("Not", {result}) : result);
}

template <const OpName& kOp>
void logical(const Node& node, LoweringContext& context) {
  const Operand left = to_bool(context, context.operand(node.input(0)));
  const Operand right = to_bool(context, context.operand(node.input(1)));
  context.define(node.result(), context.emit(kOp.text, {left, right}));
}

constexpr LoweringRow kRows[] = {
    {"aten.eq.Tensor", compare<kEqual>},          {"aten.eq.Scalar", compare<kEqual>},
    {"aten.ne.Tensor", compare<kEqual, true>},    {"aten.ne.Scalar", compare<kEqual, true>},
    {"aten.lt.Tensor", compare<kLess>},           {"aten.lt.Scalar", compare<kLess>},
    {"aten.le.Tensor", compare<kLessOrEqual>},    {"aten.le.Scalar", compare<kLessOrEqual>},
    {"aten.gt.Tensor", compare<kGreater>},        {"aten.gt.Scalar", compare<kGreater>},
    {"aten.ge.Tensor", compare<kGreaterOrEqual>}, {"aten.ge.Scalar", compare<kGreaterOrEqual>},
    {"aten.logical_and.default", logical<kAnd>},  {"aten.logical_or.default", logical<kOr>},
    {"aten.logical_xor.default", logical<kXor>},
};

}  // namespace

std::span<const LoweringRow> comparison_lowerings() { return kRows; }

}  // namespace unfuse::onnx
