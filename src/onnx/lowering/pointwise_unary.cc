// Functions of one operand, and tests on it.
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"
#include "ops/numbers_of_dtypes.h"

namespace unfuse::onnx {

Operand log1p(LoweringContext& context, Operand x) {
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  // What rounding takes from 1 + x, it takes from (1 + x) - 1 as well.
  const Operand sum = context.emit("Add", {x, number(1.0)});
  const Operand log = context.emit("Log", {sum});
  const Operand rounded = context.emit("Sub", {sum, number(1.0)});
  const Operand corrected = context.emit("Div", {context.emit("Mul", {log, x}), rounded});
  const Operand size = context.emit("Abs", {x});
  const Operand is_small = context.emit("Less", {size, number(0.5)}, DType::kBool);
  const Operand vanishes = context.emit("Equal", {rounded, number(0.0)}, DType::kBool);
  return context.where(vanishes, x, context.where(is_small, corrected, log));
}

Operand expm1(LoweringContext& context, Operand x) {
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  // exp(x) - 1 == 2 t / (1 - t) with t = tanh(x / 2), which loses nothing near zero.
  const Operand t = context.emit("Tanh", {context.emit("Mul", {x, number(0.5)})});
  const Operand near = context.emit(
      "Div", {context.emit("Mul", {t, number(2.0)}), context.emit("Sub", {number(1.0), t})});
  const Operand far = context.emit("Sub", {context.emit("Exp", {x}), number(1.0)});
  const Operand is_near =
      context.emit("Less", {context.emit("Abs", {x}), number(0.5)}, DType::kBool);
  return context.where(is_near, near, far);
}

namespace {

/// log(erfc(x) exp(x^2) (1 + x / 2)) for x >= 0, in Chebyshev polynomials of 4 / (2 + x) - 1: Press
/// et al., Numerical Recipes, 3rd edition, 6.2.2.
constexpr double kLogErfc[] = {-1.3026537197817094,
                               6.4196979235649026e-1,
                               1.9476473204185836e-2,
                               -9.561514786808631e-3,
                               -9.46595344482036e-4,
                               3.66839497852761e-4,
                               4.2523324806907e-5,
                               -2.0278578112534e-5,
                               -1.624290004647e-6,
                               1.303655835580e-6,
                               1.5626441722e-8,
                               -8.5238095915e-8,
                               6.529054439e-9,
                               5.059343495e-9,
                               -9.91364156e-10,
                               -2.27365122e-10,
                               9.6467911e-11,
                               2.394038e-12,
                               -6.886027e-12,
                               8.94487e-13,
                               3.13092e-13,
                               -1.12708e-13,
                               3.81e-16,
                               7.106e-15,
                               -1.523e-15,
                               -9.4e-17,
                               1.21e-16,
                               -2.8e-17};

/// erfc(x) for x >= 0, in float64.
Operand positive_erfc(LoweringContext& context, Operand x) {
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  const Operand t = context.emit("Div", {number(2.0), context.emit("Add", {x, number(2.0)})});
  // Clenshaw's recurrence, over twice the place.
  const Operand place = context.emit("Sub", {context.emit("Mul", {t, number(4.0)}), number(2.0)});
  Operand sum = number(0.0);
  Operand before = number(0.0);
  for (std::size_t i = std::size(kLogErfc) - 1; i > 0; --i) {
    const Operand next = context.emit(
        "Add",
        {context.emit("Sub", {context.emit("Mul", {place, sum}), before}), number(kLogErfc[i])});
    before = sum;
    sum = next;
  }
  const Operand last =
      context.emit("Add", {context.emit("Mul", {place, sum}), number(kLogErfc[0])});
  const Operand series = context.emit("Sub", {context.emit("Mul", {last, number(0.5)}), before});
  const Operand exponent = context.emit("Sub", {series, context.emit("Mul", {x, x})});
  return context.emit("Mul", {t, context.emit("Exp", {exponent})});
}

/// erf(x) of |x| < 1 / 2 in float64: x times the series of its Taylor polynomial in x^2.
Operand erf_near_zero(LoweringContext& context, Operand x) {
  constexpr int kTerms = 13;
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  const Operand square = context.emit("Mul", {x, x});
  double coefficients[kTerms];
  double factorial = 1;
  for (int n = 0; n < kTerms; ++n) {
    if (n > 0) factorial *= -n;
    coefficients[n] = 2 * std::numbers::inv_sqrtpi / (factorial * (2 * n + 1));
  }
  Operand sum = number(coefficients[kTerms - 1]);
  for (int n = kTerms - 2; n >= 0; --n) {
    sum = context.emit("Add", {context.emit("Mul", {sum, square}), number(coefficients[n])});
  }
  return context.emit("Mul", {x, sum});
}

}  // namespace

Operand erf(LoweringContext& context, Operand x) {
  if (x.dtype != DType::kFloat64) return context.emit("Erf", {x});
  // ONNX Runtime has none in float64.
  const Operand size = context.emit("Abs", {x});
  const Operand rest = positive_erfc(context, size);
  const Operand far = context.emit(
      "Mul",
      {context.emit("Sign", {x}), context.emit("Sub", {context.number(1.0, x.dtype), rest})});
  const Operand is_near = context.emit("Less", {size, context.number(0.5, x.dtype)}, DType::kBool);
  return context.where(is_near, erf_near_zero(context, x), far);
}

Operand truncate(LoweringContext& context, Operand x) {
  const Operand size = context.emit("Floor", {context.emit("Abs", {x})});
  return context.emit("Mul", {context.emit("Sign", {x}), size});
}

Operand to_bool(LoweringContext& context, Operand x) {
  if (x.dtype == DType::kBool) return x;
  const Operand wide = context.convert(x, arithmetic_dtype(x.dtype));
  const Operand zero = context.number(std::int64_t{0}, wide.dtype);
  return context.emit("Not", {context.emit("Equal", {wide, zero}, DType::kBool)});
}

namespace {

constexpr OpName kAbs{"Abs"}, kNeg{"Neg"}, kExp{"Exp"}, kLog{"Log"}, kSqrt{"Sqrt"},
    kReciprocal{"Reciprocal"}, kSin{"Sin"}, kCos{"Cos"}, kTan{"Tan"}, kAsin{"Asin"}, kAcos{"Acos"},
    kAtan{"Atan"}, kSinh{"Sinh"}, kCosh{"Cosh"}, kAsinh{"Asinh"}, kAcosh{"Acosh"}, kAtanh{"Atanh"},
    kFloor{"Floor"}, kCeil{"Ceil"}, kRound{"Round"};

/// 0 for NaN, as in PyTorch.
void sign(const Node& node, LoweringContext& context) {
  const Operand x = context.operand(node.argument(0), wide_dtype(node.result()->dtype()));
  Operand result = context.emit("Sign", {x});
  if (is_floating_point(x.dtype)) {
    const Operand is_nan = context.emit("IsNaN", {x}, DType::kBool);
    result = context.where(is_nan, context.number(0.0, x.dtype), result);
  }
  context.define(node.result(), result);
}

bool is_floating(const Node& node) { return is_floating_point(node.result()->dtype()); }

/// floor, ceil and round leave integers alone.
template <const OpName& kOp>
void rounding(const Node& node, LoweringContext& context) {
  if (is_floating(node)) return unary<kOp>(node, context);
  context.define(node.result(), context.operand(node.input(0)));
}

/// A function of the operand in the dtype that several steps are computed in.
template <Operand (*kFunction)(LoweringContext&, Operand)>
void spelled(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  context.define(node.result(), kFunction(context, context.operand(node.argument(0), dtype)));
}

Operand rsqrt(LoweringContext& context, Operand x) {
  return context.emit("Reciprocal", {context.emit("Sqrt", {x})});
}

Operand exp2(LoweringContext& context, Operand x) {
  return context.emit("Pow", {context.number(2.0, x.dtype), x});
}

Operand scaled(LoweringContext& context, Operand x, double factor) {
  return context.emit("Mul", {x, context.number(factor, x.dtype)});
}

Operand log2(LoweringContext& context, Operand x) {
  return scaled(context, context.emit("Log", {x}), std::numbers::log2e);
}

Operand log10(LoweringContext& context, Operand x) {
  return scaled(context, context.emit("Log", {x}), std::numbers::log10e);
}

Operand deg2rad(LoweringContext& context, Operand x) {
  return scaled(context, x, std::numbers::pi / 180);
}

Operand rad2deg(LoweringContext& context, Operand x) {
  return scaled(context, x, 180 / std::numbers::pi);
}

Operand square(LoweringContext& context, Operand x) { return context.emit("Mul", {x, x}); }

Operand frac(LoweringContext& context, Operand x) {
  return context.emit("Sub", {x, truncate(context, x)});
}

void trunc(const Node& node, LoweringContext& context) {
  if (is_floating(node)) return spelled<truncate>(node, context);
  context.define(node.result(), context.operand(node.input(0)));
}

/// The operand as a floating-point number, for tests; absent where integers answer by themselves.
Operand tested(const Node& node, LoweringContext& context) {
  const DType dtype = node.input(0)->dtype();
  if (!is_floating_point(dtype)) return LoweringContext::absent();
  return context.operand(node.argument(0), wide_dtype(dtype));
}

void define_everywhere(const Node& node, LoweringContext& context, bool answer) {
  const Operand same = context.number(std::int64_t{answer}, DType::kBool);
  context.define(node.result(), context.expand(same, {}, node.result()->sizes()));
}

Operand infinity(LoweringContext& context, Operand x, double sign = 1) {
  return context.number(sign * std::numeric_limits<double>::infinity(), x.dtype);
}

void isnan(const Node& node, LoweringContext& context) {
  const Operand x = tested(node, context);
  if (x.id < 0) return define_everywhere(node, context, false);
  context.define(node.result(), context.emit("IsNaN", {x}, DType::kBool));
}

void isinf(const Node& node, LoweringContext& context) {
  const Operand x = tested(node, context);
  if (x.id < 0) return define_everywhere(node, context, false);
  context.define(
      node.result(),
      context.emit("Equal", {context.emit("Abs", {x}), infinity(context, x)}, DType::kBool));
}

void isfinite(const Node& node, LoweringContext& context) {
  const Operand x = tested(node, context);
  if (x.id < 0) return define_everywhere(node, context, true);
  context.define(
      node.result(),
      context.emit("Less", {context.emit("Abs", {x}), infinity(context, x)}, DType::kBool));
}

template <int kSignOfIt>
void is_infinity_of_sign(const Node& node, LoweringContext& context) {
  const Operand x = tested(node, context);
  if (x.id < 0) return define_everywhere(node, context, false);
  context.define(node.result(),
                 context.emit("Equal", {x, infinity(context, x, kSignOfIt)}, DType::kBool));
}

void logical_not(const Node& node, LoweringContext& context) {
  const Operand x = to_bool(context, context.operand(node.input(0)));
  context.define(node.result(), context.emit("Not", {x}));
}

/// -1 - x, in two's complement.
void bitwise_not(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  if (dtype == DType::kBool) return logical_not(node, context);
  const Operand x = context.operand(node.argument(0), arithmetic_dtype(dtype));
  context.define(node.result(),
                 context.emit("Sub", {context.number(std::int64_t{-1}, x.dtype), x}));
}

Operand erfc(LoweringContext& context, Operand x) {
  return context.emit("Sub", {context.number(1.0, x.dtype), erf(context, x)});
}

/// log(x / (1 - x)), x clamped to [eps, 1 - eps] when eps is given.
void logit(const Node& node, LoweringContext& context) {
  Operand x = context.operand(node.argument(0), wide_dtype(node.result()->dtype()));
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  const Argument& eps = node.argument("eps");
  if (!eps.is_none()) {
    x = context.emit("Max", {x, number(eps.number())});
    x = context.emit("Min", {x, number(1 - eps.number())});
  }
  const Operand rest = context.emit("Sub", {number(1.0), x});
  context.define(node.result(), context.emit("Log", {context.emit("Div", {x, rest})}));
}

void nan_to_num(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  if (!is_floating_point(dtype)) {
    return context.define(node.result(), context.operand(node.input(0)));
  }
  const Operand x = context.operand(node.argument(0), wide_dtype(dtype));
  const auto replacement = [&](std::string_view name, double otherwise) {
    const Argument& argument = node.argument(name);
    return context.number(argument.is_none() ? otherwise : argument.number(), x.dtype);
  };
  const auto equals = [&](double sign) {
    return context.emit("Equal", {x, infinity(context, x, sign)}, DType::kBool);
  };
  Operand result = context.where(equals(1), replacement("posinf", ops::largest_number(dtype)), x);
  result = context.where(equals(-1), replacement("neginf", -ops::largest_number(dtype)), result);
  const Operand is_nan = context.emit("IsNaN", {x}, DType::kBool);
  context.define(node.result(), context.where(is_nan, replacement("nan", 0), result));
}

constexpr LoweringRow kRows[] = {
    {"aten.abs.default", unary<kAbs>},
    {"aten.neg.default", unary<kNeg>},
    {"aten.sign.default", sign},
    {"aten.sgn.default", sign},
    {"aten.exp.default", unary<kExp>},
    {"aten.exp2.default", spelled<exp2>},
    {"aten.expm1.default", spelled<expm1>},
    {"aten.log.default", unary<kLog>},
    {"aten.log2.default", spelled<log2>},
    {"aten.log10.default", spelled<log10>},
    {"aten.log1p.default", spelled<log1p>},
    {"aten.sqrt.default", unary<kSqrt>},
    {"aten.rsqrt.default", spelled<rsqrt>},
    {"aten.square.default", spelled<square>},
    {"aten.reciprocal.default", unary<kReciprocal>},
    {"aten.sin.default", unary<kSin>},
    {"aten.cos.default", unary<kCos>},
    {"aten.tan.default", unary<kTan>},
    {"aten.asin.default", unary<kAsin>},
    {"aten.acos.default", unary<kAcos>},
    {"aten.atan.default", unary<kAtan>},
    {"aten.sinh.default", unary<kSinh>},
    {"aten.cosh.default", unary<kCosh>},
    {"aten.asinh.default", unary<kAsinh>},
    {"aten.acosh.default", unary<kAcosh>},
    {"aten.atanh.default", unary<kAtanh>},
    {"aten.erf.default", spelled<erf>},
    {"aten.erfc.default", spelled<erfc>},
    {"aten.floor.default", rounding<kFloor>},
    {"aten.ceil.default", rounding<kCeil>},
    {"aten.round.default", rounding<kRound>},
    {"aten.trunc.default", trunc},
    {"aten.frac.default", spelled<frac>},
    {"aten.isnan.default", isnan},
    {"aten.isinf.default", isinf},
    {"aten.isfinite.default", isfinite},
    {"aten.isposinf.default", is_infinity_of_sign<1>},
    {"aten.isneginf.default", is_infinity_of_sign<-1>},
    {"aten.logical_not.default", logical_not},
    {"aten.bitwise_not.default", bitwise_not},
    {"aten.deg2rad.default", spelled<deg2rad>},
    {"aten.rad2deg.default", spelled<rad2deg>},
    {"aten.logit.default", logit},
    {"aten.nan_to_num.default", nan_to_num},
};

}  // namespace

std::span<const LoweringRow> pointwise_unary_lowerings() { return kRows; }

}  // namespace unfuse::onnx
