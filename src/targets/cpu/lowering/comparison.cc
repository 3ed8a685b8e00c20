// Comparisons and logic: the result is a bool, computed in the operands' promoted type.
#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;

template <Op kOp>
int compare(PointwiseEmitter& emitter, const Node& node) {
  const DType dtype = promoted_dtype(node);
  const int left = emitter.load(node.argument(0), dtype);
  return emitter.emit(kOp, register_type(dtype), {left, emitter.load(node.argument(1), dtype)});
}

/// Nonzero-ness does not survive a conversion from float64 to float32, so the widest type counts.
template <Op kOp>
int logical(PointwiseEmitter& emitter, const Node& node) {
  RegisterType type = RegisterType::kInt64;
  for (const Value* operand : node.operands()) {
    const RegisterType other = register_type(operand->dtype());
    if (type == RegisterType::kInt64 || other == RegisterType::kFloat64) type = other;
  }
  const int left = emitter.load(node.argument(0), type);
  return emitter.emit(kOp, type, {left, emitter.load(node.argument(1), type)});
}

constexpr PointwiseRow kRows[] = {
    {"aten.eq.Tensor", compare<Op::kEqual>},
    {"aten.eq.Scalar", compare<Op::kEqual>},
    {"aten.ne.Tensor", compare<Op::kNotEqual>},
    {"aten.ne.Scalar", compare<Op::kNotEqual>},
    {"aten.not_equal.Tensor", compare<Op::kNotEqual>},
    {"aten.not_equal.Scalar", compare<Op::kNotEqual>},
    {"aten.lt.Tensor", compare<Op::kLess>},
    {"aten.lt.Scalar", compare<Op::kLess>},
    {"aten.less.Tensor", compare<Op::kLess>},
    {"aten.less.Scalar", compare<Op::kLess>},
    {"aten.le.Tensor", compare<Op::kLessEqual>},
    {"aten.le.Scalar", compare<Op::kLessEqual>},
    {"aten.less_equal.Tensor", compare<Op::kLessEqual>},
    {"aten.less_equal.Scalar", compare<Op::kLessEqual>},
    {"aten.gt.Tensor", compare<Op::kGreater>},
    {"aten.gt.Scalar", compare<Op::kGreater>},
    {"aten.greater.Tensor", compare<Op::kGreater>},
    {"aten.greater.Scalar", compare<Op::kGreater>},
    {"aten.ge.Tensor", compare<Op::kGreaterEqual>},
    {"aten.ge.Scalar", compare<Op::kGreaterEqual>},
    {"aten.greater_equal.Tensor", compare<Op::kGreaterEqual>},
    {"aten.greater_equal.Scalar", compare<Op::kGreaterEqual>},
    {"aten.logical_and.default", logical<Op::kLogicalAnd>},
    {"aten.logical_or.default", logical<Op::kLogicalOr>},
    {"aten.logical_xor.default", logical<Op::kLogicalXor>},
};

}  // namespace

std::span<const PointwiseRow> comparison_rows() { return kRows; }

}  // namespace unfuse::cpu
