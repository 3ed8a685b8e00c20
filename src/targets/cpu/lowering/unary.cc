// Functions of one operand, and tests on it.
#include <limits>
#include <numbers>

#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;

int self(PointwiseEmitter& emitter, const Node& node) {
  return emitter.load(node.argument(0), result_register_type(node));
}

template <Op kOp>
int unary(PointwiseEmitter& emitter, const Node& node) {
  return emitter.emit(kOp, result_register_type(node), {self(emitter, node)});
}

/// The result is a bool; computed in the operand's type.
template <Op kOp>
int test(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = register_type(node.input(0)->dtype());
  return emitter.emit(kOp, type, {emitter.load(node.argument(0), type)});
}

template <int kSign>
int is_infinity_of_sign(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = register_type(node.input(0)->dtype());
  if (type == RegisterType::kInt64) return emitter.constant(std::int64_t{0}, type);
  const int infinity = emitter.constant(kSign * std::numeric_limits<double>::infinity(), type);
  return emitter.emit(Op::kEqual, type, {emitter.load(node.argument(0), type), infinity});
}

int bitwise_not(PointwiseEmitter& emitter, const Node& node) {
  const bool is_bool = node.result()->dtype() == DType::kBool;
  return is_bool ? unary<Op::kLogicalNot>(emitter, node) : unary<Op::kBitwiseNot>(emitter, node);
}

int frac(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int value = self(emitter, node);
  return emitter.emit(Op::kSubtract, type, {value, emitter.emit(Op::kTrunc, type, {value})});
}

int scaled(PointwiseEmitter& emitter, const Node& node, double factor) {
  const RegisterType type = result_register_type(node);
  return emitter.emit(Op::kMultiply, type, {self(emitter, node), emitter.constant(factor, type)});
}

int deg2rad(PointwiseEmitter& emitter, const Node& node) {
  return scaled(emitter, node, std::numbers::pi / 180);
}

int rad2deg(PointwiseEmitter& emitter, const Node& node) {
  return scaled(emitter, node, 180 / std::numbers::pi);
}

/// log(x / (1 - x)), x clamped to [eps, 1 - eps] when eps is given.
int logit(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  int value = self(emitter, node);
  const Argument& eps = node.argument("eps");
  if (!eps.is_none()) {
    const int low = emitter.constant(eps.number(), type);
    const int high = emitter.constant(1 - eps.number(), type);
    value = emitter.emit(Op::kMaximum, type, {value, low});
    value = emitter.emit(Op::kMinimum, type, {value, high});
  }
  const int rest = emitter.emit(Op::kSubtract, type, {emitter.constant(1.0, type), value});
  return emitter.emit(Op::kLog, type, {emitter.emit(Op::kDivide, type, {value, rest})});
}

double largest(DType dtype) {
  return dtype == DType::kFloat64 ? std::numeric_limits<double>::max()
                                  : std::numeric_limits<float>::max();
}

int nan_to_num(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  int value = self(emitter, node);
  if (type == RegisterType::kInt64) return emitter.emit(Op::kTrunc, type, {value});
  const double limit = largest(node.result()->dtype());
  const auto replacement = [&](std::string_view name, double otherwise) {
    const Argument& argument = node.argument(name);
    return emitter.constant(argument.is_none() ? otherwise : argument.number(), type);
  };
  const auto replace_equal = [&](double sign, int by) {
    const int infinity = emitter.constant(sign * std::numeric_limits<double>::infinity(), type);
    const int matches = emitter.emit(Op::kEqual, type, {value, infinity});
    value = emitter.emit(Op::kWhere, type, {matches, by, value});
  };
  replace_equal(1, replacement("posinf", limit));
  replace_equal(-1, replacement("neginf", -limit));
  const int is_nan = emitter.emit(Op::kIsNan, type, {value});
  return emitter.emit(Op::kWhere, type, {is_nan, replacement("nan", 0), value});
}

constexpr PointwiseRow kRows[] = {
    {"aten.abs.default", unary<Op::kAbsolute>},
    {"aten.neg.default", unary<Op::kNegate>},
    {"aten.sign.default", unary<Op::kSign>},
    {"aten.sgn.default", unary<Op::kSign>},
    {"aten.exp.default", unary<Op::kExp>},
    {"aten.exp2.default", unary<Op::kExp2>},
    {"aten.expm1.default", unary<Op::kExpm1>},
    {"aten.log.default", unary<Op::kLog>},
    {"aten.log2.default", unary<Op::kLog2>},
    {"aten.log10.default", unary<Op::kLog10>},
    {"aten.log1p.default", unary<Op::kLog1p>},
    {"aten.sqrt.default", unary<Op::kSqrt>},
    {"aten.rsqrt.default", unary<Op::kRsqrt>},
    {"aten.square.default", unary<Op::kSquare>},
    {"aten.reciprocal.default", unary<Op::kReciprocal>},
    {"aten.sin.default", unary<Op::kSin>},
    {"aten.cos.default", unary<Op::kCos>},
    {"aten.tan.default", unary<Op::kTan>},
    {"aten.asin.default", unary<Op::kAsin>},
    {"aten.acos.default", unary<Op::kAcos>},
    {"aten.atan.default", unary<Op::kAtan>},
    {"aten.sinh.default", unary<Op::kSinh>},
    {"aten.cosh.default", unary<Op::kCosh>},
    {"aten.asinh.default", unary<Op::kAsinh>},
    {"aten.acosh.default", unary<Op::kAcosh>},
    {"aten.atanh.default", unary<Op::kAtanh>},
    {"aten.erf.default", unary<Op::kErf>},
    {"aten.erfc.default", unary<Op::kErfc>},
    {"aten.floor.default", unary<Op::kFloor>},
    {"aten.ceil.default", unary<Op::kCeil>},
    {"aten.round.default", unary<Op::kRound>},
    {"aten.trunc.default", unary<Op::kTrunc>},
    {"aten.fix.default", unary<Op::kTrunc>},
    {"aten.frac.default", frac},
    {"aten.isnan.default", test<Op::kIsNan>},
    {"aten.isinf.default", test<Op::kIsInf>},
    {"aten.isfinite.default", test<Op::kIsFinite>},
    {"aten.isposinf.default", is_infinity_of_sign<1>},
    {"aten.isneginf.default", is_infinity_of_sign<-1>},
    {"aten.logical_not.default", test<Op::kLogicalNot>},
    {"aten.bitwise_not.default", bitwise_not},
    {"aten.deg2rad.default", deg2rad},
    {"aten.rad2deg.default", rad2deg},
    {"aten.logit.default", logit},
    {"aten.nan_to_num.default", nan_to_num},
};

}  // namespace

std::span<const PointwiseRow> unary_rows() { return kRows; }

}  // namespace unfuse::cpu
