// Binary and ternary arithmetic, and bits.
#include <cstdint>
#include <limits>
#include <numbers>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"
#include "ops/numbers_of_dtypes.h"

namespace unfuse::onnx {
namespace {

constexpr OpName kMul{"Mul"}, kDiv{"Div"}, kPow{"Pow"}, kMax{"Max"}, kMin{"Min"},
    kBitwiseAnd{"BitwiseAnd"}, kBitwiseOr{"BitwiseOr"}, kBitwiseXor{"BitwiseXor"}, kAnd{"And"},
    kOr{"Or"}, kXor{"Xor"};

struct Pair {
  Operand left;
  Operand right;
};

/// The first two arguments, in the dtype that the result is computed in.
Pair operands(const Node& node, LoweringContext& context, DType computed) {
  const DType dtype = node.result()->dtype();
  const Operand left = context.operand(node.argument(0), dtype, computed);
  return {left, context.operand(node.argument(1), dtype, computed)};
}

DType dtype_of(const Node& node) { return arithmetic_dtype(node.result()->dtype()); }

template <const OpName& kOp>
void binary(const Node& node, LoweringContext& context) {
  const auto [left, right] = operands(node, context, dtype_of(node));
  context.define(node.result(), context.emit(kOp.text, {left, right}));
}

bool is_one(const Argument& argument) {
  if (const auto* dim = argument.get_if<Dim>()) return dim->constant() == 1;
  return argument.is_constant_scalar() && argument.number() == 1;
}

/// base + alpha * scaled, or base - alpha * scaled.
void scaled_sum(const Node& node, LoweringContext& context, int base, int scaled, const char* op) {
  const Argument& alpha = node.argument("alpha");
  const DType dtype = is_one(alpha) ? dtype_of(node) : wide_dtype(node.result()->dtype());
  const Operand left = context.operand(node.argument(base), dtype);
  Operand right = context.operand(node.argument(scaled), dtype);
  if (!is_one(alpha)) right = context.emit("Mul", {right, context.operand(alpha, dtype)});
  context.define(node.result(), context.emit(op, {left, right}));
}

void add(const Node& node, LoweringContext& context) { scaled_sum(node, context, 0, 1, "Add"); }
void sub(const Node& node, LoweringContext& context) { scaled_sum(node, context, 0, 1, "Sub"); }
void rsub(const Node& node, LoweringContext& context) { scaled_sum(node, context, 1, 0, "Sub"); }

Operand is_negative(LoweringContext& context, Operand x) {
  return context.emit("Less", {x, context.number(std::int64_t{0}, x.dtype)}, DType::kBool);
}

/// The remainder with the sign of the dividend, as C has it.
Operand c_remainder(LoweringContext& context, const Pair& pair) {
  return context.emit("Mod", {pair.left, pair.right}, {{"fmod", std::int64_t{1}}});
}

/// Whether the remainder has another sign than the divisor, and is not zero.
Operand crosses_zero(LoweringContext& context, Operand remainder, Operand divisor) {
  const Operand differs = context.emit(
      "Xor", {is_negative(context, remainder), is_negative(context, divisor)}, DType::kBool);
  return context.emit("And", {to_bool(context, remainder), differs}, DType::kBool);
}

/// Python's remainder: with the sign of the divisor.
Operand python_remainder(LoweringContext& context, const Pair& pair) {
  if (!is_floating_point(pair.left.dtype)) return context.emit("Mod", {pair.left, pair.right});
  const Operand remainder = c_remainder(context, pair);
  return context.where(crosses_zero(context, remainder, pair.right),
                       context.emit("Add", {remainder, pair.right}), remainder);
}

/// As PyTorch does it: exact where the quotient is a whole number, though left / right would round,
/// and a number where the divisor is infinite.
Operand floor_quotient(LoweringContext& context, const Pair& pair) {
  const auto& [left, right] = pair;
  const Operand remainder = c_remainder(context, pair);
  const Operand exact = context.emit("Div", {context.emit("Sub", {left, remainder}), right});
  const Operand one = context.number(std::int64_t{1}, left.dtype);
  const Operand below = context.where(crosses_zero(context, remainder, right),
                                      context.emit("Sub", {exact, one}), exact);
  if (!is_floating_point(left.dtype)) return below;
  // Nearly whole already: rounding may have left it on either side.
  const Operand floor = context.emit("Floor", {below});
  const Operand is_next = context.emit(
      "Greater", {context.emit("Sub", {below, floor}), context.number(0.5, left.dtype)},
      DType::kBool);
  const Operand quotient = context.where(is_next, context.emit("Add", {floor, one}), floor);
  const Operand by_zero = context.emit("Not", {to_bool(context, right)});
  return context.where(by_zero, context.emit("Div", {left, right}), quotient);
}

Operand truncated_quotient(LoweringContext& context, const Pair& pair) {
  const Operand quotient = context.emit("Div", {pair.left, pair.right});
  return is_floating_point(quotient.dtype) ? truncate(context, quotient) : quotient;
}

void floor_divide(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  context.define(node.result(), floor_quotient(context, operands(node, context, dtype)));
}

void div_mode(const Node& node, LoweringContext& context) {
  const Argument& mode = node.argument("rounding_mode");
  if (mode.is_none()) return binary<kDiv>(node, context);
  if (mode.string() == "floor") return floor_divide(node, context);
  const DType dtype = wide_dtype(node.result()->dtype());
  context.define(node.result(), truncated_quotient(context, operands(node, context, dtype)));
}

void remainder(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  context.define(node.result(), python_remainder(context, operands(node, context, dtype)));
}

void fmod(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  context.define(node.result(), c_remainder(context, operands(node, context, dtype)));
}

void clamp(const Node& node, LoweringContext& context) {
  const DType dtype = dtype_of(node);
  const auto bounded = [&](Operand value, const char* op, std::string_view bound) {
    const Argument& argument = node.argument(bound);
    if (argument.is_none()) return value;
    return context.emit(op, {value, context.operand(argument, node.result()->dtype(), dtype)});
  };
  Operand result = context.operand(node.argument(0), dtype);
  result = bounded(result, "Max", "min");
  result = bounded(result, "Min", "max");
  context.define(node.result(), result);
}

template <const OpName& kBits, const OpName& kLogic>
void bitwise(const Node& node, LoweringContext& context) {
  const bool is_bool = node.result()->dtype() == DType::kBool;
  if (!is_bool && context.opset() < 18) refuse("ONNX has bitwise ops on integers from opset 18 on");
  const DType dtype = node.result()->dtype();
  const auto [left, right] = operands(node, context, dtype);
  context.define(node.result(), context.emit(is_bool ? kLogic.text : kBits.text, {left, right}));
}

/// start + weight * (end - start), from the nearer end.
void lerp(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  const auto [start, end] = operands(node, context, dtype);
  const Operand weight = context.operand(node.argument(2), dtype);
  const auto number = [&](double value) { return context.number(value, dtype); };
  const Operand span = context.emit("Sub", {end, start});
  const Operand forwards = context.emit("Add", {start, context.emit("Mul", {weight, span})});
  const Operand rest = context.emit("Sub", {number(1.0), weight});
  const Operand backwards = context.emit("Sub", {end, context.emit("Mul", {span, rest})});
  const Operand is_near =
      context.emit("Less", {context.emit("Abs", {weight}), number(0.5)}, DType::kBool);
  context.define(node.result(), context.where(is_near, forwards, backwards));
}

/// base ^ exponent by squaring.
Operand whole_power(LoweringContext& context, Operand base, std::uint64_t exponent) {
  if (exponent == 0) {
    return context.emit("Pow", {base, context.number(std::int64_t{0}, base.dtype)});
  }
  Operand result = LoweringContext::absent();
  for (Operand power = base;; power = context.emit("Mul", {power, power})) {
    if (exponent % 2 == 1) result = result.id < 0 ? power : context.emit("Mul", {result, power});
    exponent /= 2;
    if (exponent == 0) return result;
  }
}

/// base ^ (2 ^ bit), for each bit of an exponent.
class Squares {
 public:
  Squares(LoweringContext& context, const Node& node, Operand base)
      : context_(context), current_(base) {
    const auto* number = node.argument(0).get_if<Dim>();
    is_known_ = number != nullptr && number->constant().has_value();
    if (is_known_) known_ = static_cast<std::uint64_t>(number->constant().value_or(0));
  }

  Operand current() const { return current_; }

  /// Of a number they are computed here: tools that fold constants may refuse products that wrap.
  void next() {
    if (!is_known_) {
      current_ = context_.emit("Mul", {current_, current_});
      return;
    }
    known_ *= known_;
    const auto low_bits = static_cast<std::int64_t>(known_);
    current_ = context_.number(ops::wrapped(low_bits, current_.dtype), current_.dtype);
  }

 private:
  LoweringContext& context_;
  Operand current_;
  bool is_known_ = false;
  std::uint64_t known_ = 0;  ///< its low bits
};

/// The same for exponents that are data.
Operand whole_power(LoweringContext& context, const Node& node, Operand base, Operand exponent) {
  const auto number = [&](std::int64_t value) { return context.number(value, base.dtype); };
  const auto parity = [&](Operand x) { return context.emit("Mod", {x, number(2)}); };
  // From here on every even base has wrapped to 0.
  constexpr int kBits = 7;
  constexpr std::int64_t kEnough = (1 << kBits) - 2;
  Operand rest =
      context.emit("Min", {exponent, context.emit("Add", {parity(exponent), number(kEnough)})});
  Squares power(context, node, base);
  Operand result = number(1);
  for (int bit = 0; bit < kBits; ++bit) {
    if (bit > 0) {
      power.next();
      rest = context.emit("Div", {rest, number(2)});
    }
    const Operand is_odd = to_bool(context, parity(rest));
    result = context.where(is_odd, context.emit("Mul", {result, power.current()}), result);
  }
  // 1 / base^n is whole for 1 and -1, whose powers do not end.
  const Operand is_unit =
      context.emit("Equal", {context.emit("Abs", {base}), number(1)}, DType::kBool);
  const Operand vanishes = context.emit(
      "And", {is_negative(context, exponent), context.emit("Not", {is_unit})}, DType::kBool);
  return context.where(vanishes, number(0), result);
}

/// Of integers, by products, which wrap as PyTorch's do: a Pow is computed in float64.
void power(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  if (is_floating_point(dtype)) return binary<kPow>(node, context);
  const auto [base, exponent] = operands(node, context, dtype_of(node));
  const auto* fixed = node.argument(1).get_if<Dim>();
  if (fixed == nullptr || !fixed->constant()) {
    return context.define(node.result(), whole_power(context, node, base, exponent));
  }
  const std::int64_t wrapped = ops::wrapped(*fixed->constant(), dtype);
  context.define(node.result(),
                 wrapped < 0 ? whole_power(context, node, base, exponent)
                             : whole_power(context, base, static_cast<std::uint64_t>(wrapped)));
}

/// The angle of (right, left) in its quadrant.
void atan2(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  const auto [y, x] = operands(node, context, dtype);
  const auto number = [&](double value) { return context.number(value, dtype); };
  // Of -0 only the reciprocal shows the sign.
  const auto has_sign = [&](Operand value) {
    const Operand reciprocal = is_negative(context, context.emit("Reciprocal", {value}));
    return context.emit("Or", {is_negative(context, value), reciprocal}, DType::kBool);
  };
  const auto both = [&](Operand a, Operand b, double value) {
    const auto is = [&](Operand operand) {
      return context.emit("Equal", {operand, number(value)}, DType::kBool);
    };
    return context.emit("And", {is(a), is(b)}, DType::kBool);
  };
  // Infinities are as one.
  const Operand infinite = both(context.emit("Abs", {y}), context.emit("Abs", {x}),
                                std::numeric_limits<double>::infinity());
  const Operand ratio = context.where(
      infinite, context.emit("Mul", {context.emit("Sign", {y}), context.emit("Sign", {x})}),
      context.emit("Div", {y, x}));
  const Operand slope = context.emit("Atan", {ratio});
  const Operand y_negative = has_sign(y);
  const Operand half_turn =
      context.where(y_negative, number(-std::numbers::pi), number(std::numbers::pi));
  const Operand x_negative = has_sign(x);
  const Operand turned = context.where(x_negative, context.emit("Add", {slope, half_turn}), slope);
  const Operand on_axis = context.where(x_negative, half_turn, y);
  context.define(node.result(), context.where(both(y, x, 0.0), on_axis, turned));
}

constexpr LoweringRow kRows[] = {
    {"aten.add.Tensor", add},
    {"aten.add.Scalar", add},
    {"aten.sub.Tensor", sub},
    {"aten.sub.Scalar", sub},
    {"aten.rsub.Tensor", rsub},
    {"aten.rsub.Scalar", rsub},
    {"aten.mul.Tensor", binary<kMul>},
    {"aten.mul.Scalar", binary<kMul>},
    {"aten.div.Tensor", binary<kDiv>},
    {"aten.div.Scalar", binary<kDiv>},
    {"aten.div.Tensor_mode", div_mode},
    {"aten.div.Scalar_mode", div_mode},
    {"aten.floor_divide.default", floor_divide},
    {"aten.floor_divide.Scalar", floor_divide},
    {"aten.remainder.Tensor", remainder},
    {"aten.remainder.Scalar", remainder},
    {"aten.remainder.Scalar_Tensor", remainder},
    {"aten.fmod.Tensor", fmod},
    {"aten.fmod.Scalar", fmod},
    {"aten.pow.Tensor_Tensor", power},
    {"aten.pow.Tensor_Scalar", power},
    {"aten.pow.Scalar", power},
    {"aten.maximum.default", binary<kMax>},
    {"aten.minimum.default", binary<kMin>},
    {"aten.atan2.default", atan2},
    {"aten.lerp.Tensor", lerp},
    {"aten.lerp.Scalar", lerp},
    {"aten.clamp.default", clamp},
    {"aten.clamp.Tensor", clamp},
    {"aten.bitwise_and.Tensor", bitwise<kBitwiseAnd, kAnd>},
    {"aten.bitwise_and.Scalar", bitwise<kBitwiseAnd, kAnd>},
    {"aten.bitwise_or.Tensor", bitwise<kBitwiseOr, kOr>},
    {"aten.bitwise_or.Scalar", bitwise<kBitwiseOr, kOr>},
    {"aten.bitwise_xor.Tensor", bitwise<kBitwiseXor, kXor>},
    {"aten.bitwise_xor.Scalar", bitwise<kBitwiseXor, kXor>},
};

}  // namespace

std::span<const LoweringRow> pointwise_binary_lowerings() { return kRows; }

}  // namespace unfuse::onnx
