// Binary and ternary arithmetic, and bits.
#include <string>

#include "targets/cpu/lowering/pointwise_emitter.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;

template <Op kOp>
int binary(PointwiseEmitter& emitter, const Node& node) {
  const DType dtype = node.result()->dtype();
  const int left = emitter.load(node.argument(0), dtype);
  return emitter.emit(kOp, register_type(dtype), {left, emitter.load(node.argument(1), dtype)});
}

/// `kOp` takes the other operand where one is NaN, which no integer is: there it is `kOfIntegers`.
template <Op kOp, Op kOfIntegers>
int ignoring_nan(PointwiseEmitter& emitter, const Node& node) {
  return is_floating_point(node.result()->dtype()) ? binary<kOp>(emitter, node)
                                                   : binary<kOfIntegers>(emitter, node);
}

bool is_one(const Argument& argument) {
  if (const auto* dim = argument.get_if<Dim>()) return dim->constant() == 1;
  return argument.is_constant_scalar() && argument.number() == 1;
}

/// base + alpha * scaled, or base - alpha * scaled.
int scaled_sum(PointwiseEmitter& emitter, const Node& node, int base, int scaled, Op op) {
  const RegisterType type = result_register_type(node);
  const Argument& base_argument = node.argument(base);
  const Argument& scaled_argument = node.argument(scaled);
  const int left = emitter.load(base_argument, type);
  int right = emitter.load(scaled_argument, type);
  const Argument& alpha = node.argument("alpha");
  if (!is_one(alpha)) {
    const int factor = emitter.load(alpha, type);
    if (op == Op::kAdd) return emitter.emit(Op::kMultiplyAdd, type, {right, factor, left});
    right = emitter.emit(Op::kMultiply, type, {right, factor});
  }
  return emitter.emit(op, type, {left, right});
}

int add(PointwiseEmitter& emitter, const Node& node) {
  return scaled_sum(emitter, node, 0, 1, Op::kAdd);
}

int sub(PointwiseEmitter& emitter, const Node& node) {
  return scaled_sum(emitter, node, 0, 1, Op::kSubtract);
}

int rsub(PointwiseEmitter& emitter, const Node& node) {
  return scaled_sum(emitter, node, 1, 0, Op::kSubtract);
}

int div_mode(PointwiseEmitter& emitter, const Node& node) {
  const Argument& mode = node.argument("rounding_mode");
  if (mode.is_none()) return binary<Op::kDivide>(emitter, node);
  return mode.string() == "floor" ? binary<Op::kDivideFloor>(emitter, node)
                                  : binary<Op::kDivideTrunc>(emitter, node);
}

int lerp(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int start = emitter.load(node.argument(0), type);
  const int end = emitter.load(node.argument(1), type);
  return emitter.emit(Op::kLerp, type, {start, end, emitter.load(node.argument(2), type)});
}

/// self + value * (tensor1 op tensor2)
template <Op kOp>
int add_product(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int self = emitter.load(node.argument(0), type);
  int left = emitter.load(node.argument(1), type);
  const int right = emitter.load(node.argument(2), type);
  const Argument& value = node.argument("value");
  if (!is_one(value)) {
    left = emitter.emit(Op::kMultiply, type, {emitter.load(value, type), left});
  }
  return emitter.emit(Op::kAdd, type, {self, emitter.emit(kOp, type, {left, right})});
}

int clamp(PointwiseEmitter& emitter, const Node& node) {
  const DType dtype = node.result()->dtype();
  const RegisterType type = register_type(dtype);
  int value = emitter.load(node.argument(0), type);
  const Argument& minimum = node.argument("min");
  const Argument& maximum = node.argument("max");
  if (!minimum.is_none()) {
    value = emitter.emit(Op::kMaximum, type, {value, emitter.load(minimum, dtype)});
  }
  if (!maximum.is_none()) {
    value = emitter.emit(Op::kMinimum, type, {value, emitter.load(maximum, dtype)});
  }
  return value;
}

/// log(exp(a) + exp(b)) without overflow; equal infinities give themselves.
int logaddexp(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int a = emitter.load(node.argument(0), type);
  const int b = emitter.load(node.argument(1), type);
  const int largest = emitter.emit(Op::kMaximum, type, {a, b});
  const int distance =
      emitter.emit(Op::kAbsolute, type, {emitter.emit(Op::kSubtract, type, {a, b})});
  const int correction =
      emitter.emit(Op::kLog1p, type,
                   {emitter.emit(Op::kExp, type, {emitter.emit(Op::kNegate, type, {distance})})});
  const int sum = emitter.emit(Op::kAdd, type, {largest, correction});
  const int same = emitter.emit(Op::kEqual, type, {a, b});
  const int infinite = emitter.emit(Op::kIsInf, type, {a});
  const int keep = emitter.emit(Op::kLogicalAnd, type, {same, infinite});
  return emitter.emit(Op::kWhere, type, {keep, a, sum});
}

/// a * log(b), but 0 where a is 0 and b is not NaN.
int xlogy(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int a = emitter.load(node.argument(0), type);
  const int b = emitter.load(node.argument(1), type);
  const int zero = emitter.constant(0.0, type);
  const int product = emitter.emit(Op::kMultiply, type, {a, emitter.emit(Op::kLog, type, {b})});
  const int is_zero = emitter.emit(Op::kEqual, type, {a, zero});
  const int is_number = emitter.emit(Op::kLogicalNot, type, {emitter.emit(Op::kIsNan, type, {b})});
  const int cut = emitter.emit(Op::kLogicalAnd, type, {is_zero, is_number});
  return emitter.emit(Op::kWhere, type, {cut, zero, product});
}

constexpr PointwiseRow kRows[] = {
    {"aten.add.Tensor", add},
    {"aten.add.Scalar", add},
    {"aten.sub.Tensor", sub},
    {"aten.sub.Scalar", sub},
    {"aten.subtract.Tensor", sub},
    {"aten.subtract.Scalar", sub},
    {"aten.rsub.Tensor", rsub},
    {"aten.rsub.Scalar", rsub},
    {"aten.mul.Tensor", binary<Op::kMultiply>},
    {"aten.mul.Scalar", binary<Op::kMultiply>},
    {"aten.multiply.Tensor", binary<Op::kMultiply>},
    {"aten.multiply.Scalar", binary<Op::kMultiply>},
    {"aten.div.Tensor", binary<Op::kDivide>},
    {"aten.div.Scalar", binary<Op::kDivide>},
    {"aten.divide.Tensor", binary<Op::kDivide>},
    {"aten.divide.Scalar", binary<Op::kDivide>},
    {"aten.true_divide.Tensor", binary<Op::kDivide>},
    {"aten.true_divide.Scalar", binary<Op::kDivide>},
    {"aten.div.Tensor_mode", div_mode},
    {"aten.div.Scalar_mode", div_mode},
    {"aten.floor_divide.default", binary<Op::kDivideFloor>},
    {"aten.floor_divide.Scalar", binary<Op::kDivideFloor>},
    {"aten.remainder.Tensor", binary<Op::kRemainder>},
    {"aten.remainder.Scalar", binary<Op::kRemainder>},
    {"aten.remainder.Scalar_Tensor", binary<Op::kRemainder>},
    {"aten.fmod.Tensor", binary<Op::kFmod>},
    {"aten.fmod.Scalar", binary<Op::kFmod>},
    {"aten.pow.Tensor_Tensor", binary<Op::kPower>},
    {"aten.pow.Tensor_Scalar", binary<Op::kPower>},
    {"aten.pow.Scalar", binary<Op::kPower>},
    {"aten.float_power.Tensor_Scalar", binary<Op::kPower>},
    {"aten.float_power.Tensor_Tensor", binary<Op::kPower>},
    {"aten.maximum.default", binary<Op::kMaximum>},
    {"aten.minimum.default", binary<Op::kMinimum>},
    {"aten.max.other", binary<Op::kMaximum>},
    {"aten.min.other", binary<Op::kMinimum>},
    {"aten.fmax.default", ignoring_nan<Op::kFmax, Op::kMaximum>},
    {"aten.fmin.default", ignoring_nan<Op::kFmin, Op::kMinimum>},
    {"aten.atan2.default", binary<Op::kAtan2>},
    {"aten.logaddexp.default", logaddexp},
    {"aten.xlogy.Tensor", xlogy},
    {"aten.lerp.Tensor", lerp},
    {"aten.lerp.Scalar", lerp},
    {"aten.addcmul.default", add_product<Op::kMultiply>},
    {"aten.addcdiv.default", add_product<Op::kDivide>},
    {"aten.clamp.default", clamp},
    {"aten.clamp.Tensor", clamp},
    {"aten.clip.default", clamp},
    {"aten.clamp_min.default", binary<Op::kMaximum>},
    {"aten.clamp_min.Tensor", binary<Op::kMaximum>},
    {"aten.clamp_max.default", binary<Op::kMinimum>},
    {"aten.clamp_max.Tensor", binary<Op::kMinimum>},
    {"aten.bitwise_and.Tensor", binary<Op::kBitwiseAnd>},
    {"aten.bitwise_and.Scalar", binary<Op::kBitwiseAnd>},
    {"aten.bitwise_or.Tensor", binary<Op::kBitwiseOr>},
    {"aten.bitwise_or.Scalar", binary<Op::kBitwiseOr>},
    {"aten.bitwise_xor.Tensor", binary<Op::kBitwiseXor>},
    {"aten.bitwise_xor.Scalar", binary<Op::kBitwiseXor>},
    {"aten.bitwise_left_shift.Tensor", binary<Op::kShiftLeft>},
    {"aten.bitwise_left_shift.Tensor_Scalar", binary<Op::kShiftLeft>},
    {"aten.bitwise_right_shift.Tensor", binary<Op::kShiftRight>},
    {"aten.bitwise_right_shift.Tensor_Scalar", binary<Op::kShiftRight>},
};

}  // namespace

std::span<const PointwiseRow> arithmetic_rows() { return kRows; }

}  // namespace unfuse::cpu
