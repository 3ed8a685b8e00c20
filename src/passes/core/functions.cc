// Functions of one number or two, out of logarithms, powers and sines: computed wide, as PyTorch's
// kernels do.
#include <limits>
#include <numbers>

#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

// The operands that are tensors, in the dtype that the result is computed in.
struct Operands {
  Builder& builder;
  const Node& node;

  Value* operator[](std::size_t index) const {
    return convert(builder, node.input(index), computed_in(node.result()->dtype()));
  }
  Value* apply(std::string_view op, Arguments arguments) const {
    return call(builder, op, std::move(arguments));
  }
};

template <Value* (*Function)(const Operands&)>
Replacement function(RewriteContext& at, const Node& node) {
  Value* result = Function(Operands{at.builder, node});
  return replace_by(convert(at.builder, result, node.result()->dtype()));
}

// log(x / (1 - x)), of what eps lets through.
Value* logit(const Operands& of) {
  Value* x = of[0];
  const Argument& eps = of.node.argument("eps");
  if (!eps.is_none()) x = of.apply("aten.clamp.default", {x, eps, 1 - eps.number()});
  Value* rest = of.apply("aten.add.Scalar", {of.apply("aten.neg.default", {x}), 1.0});
  return of.apply("aten.log.default", {of.apply("aten.div.Tensor", {x, rest})});
}

// x log(y), 0 where x is, but for NaN.
Value* xlogy(const Operands& of) {
  Value* x = of[0];
  Value* y = of[1];
  Value* product = of.apply("aten.mul.Tensor", {x, of.apply("aten.log.default", {y})});
  Value* zero = scalar(of.builder, Argument(0), x->dtype());
  Value* is_zero = of.apply("aten.eq.Scalar", {x, 0});
  Value* is_number = of.apply("aten.eq.Tensor", {y, y});
  Value* vanishes = of.apply("aten.logical_and.default", {is_zero, is_number});
  return of.apply("aten.where.self", {vanishes, zero, product});
}

// log(exp(x) + exp(y)), from the larger one; infinities that are alike stay.
Value* logaddexp(const Operands& of) {
  Value* x = of[0];
  Value* y = of[1];
  Value* distance = of.apply("aten.abs.default", {of.apply("aten.sub.Tensor", {x, y})});
  Value* small = of.apply("aten.exp.default", {of.apply("aten.neg.default", {distance})});
  Value* larger = of.apply("aten.maximum.default", {x, y});
  Value* sum = of.apply("aten.add.Tensor", {larger, of.apply("aten.log1p.default", {small})});
  Value* alike = of.apply("aten.logical_and.default", {of.apply("aten.isinf.default", {x}),
                                                       of.apply("aten.eq.Tensor", {x, y})});
  return of.apply("aten.where.self", {alike, x, sum});
}

// log2(2^x + 2^y), in the same way.
Value* logaddexp2(const Operands& of) {
  Value* x = of[0];
  Value* y = of[1];
  Value* distance = of.apply("aten.abs.default", {of.apply("aten.sub.Tensor", {x, y})});
  Value* small = of.apply("aten.exp2.default", {of.apply("aten.neg.default", {distance})});
  Value* rest =
      of.apply("aten.mul.Scalar", {of.apply("aten.log1p.default", {small}), std::numbers::log2e});
  Value* sum = of.apply("aten.add.Tensor", {of.apply("aten.maximum.default", {x, y}), rest});
  Value* alike = of.apply("aten.logical_and.default", {of.apply("aten.isinf.default", {x}),
                                                       of.apply("aten.eq.Tensor", {x, y})});
  return of.apply("aten.where.self", {alike, x, sum});
}

// sqrt(x^2 + y^2), from the larger one, so that no square overflows; of an infinity, whatever the
// other one is, infinity.
Value* hypot(const Operands& of) {
  Value* x = of.apply("aten.abs.default", {of[0]});
  Value* y = of.apply("aten.abs.default", {of[1]});
  Value* larger = of.apply("aten.maximum.default", {x, y});
  Value* ratio = of.apply("aten.div.Tensor", {of.apply("aten.minimum.default", {x, y}), larger});
  Value* square = of.apply("aten.mul.Tensor", {ratio, ratio});
  Value* root = of.apply("aten.sqrt.default", {of.apply("aten.add.Scalar", {square, 1.0})});
  Value* length = of.apply("aten.mul.Tensor", {larger, root});
  Value* is_zero = of.apply("aten.eq.Scalar", {larger, 0});
  length = of.apply("aten.where.self", {is_zero, larger, length});
  Value* infinite = of.apply("aten.logical_or.default", {of.apply("aten.isinf.default", {x}),
                                                         of.apply("aten.isinf.default", {y})});
  Value* infinity =
      scalar(of.builder, Argument(std::numeric_limits<double>::infinity()), x->dtype());
  return of.apply("aten.where.self", {infinite, infinity, length});
}

Value* sinc(const Operands& of) {
  Value* x = of.apply("aten.mul.Scalar", {of[0], std::numbers::pi});
  Value* ratio = of.apply("aten.div.Tensor", {of.apply("aten.sin.default", {x}), x});
  Value* one = scalar(of.builder, Argument(1), x->dtype());
  return of.apply("aten.where.self", {of.apply("aten.eq.Scalar", {x, 0}), one, ratio});
}

Value* deg2rad(const Operands& of) {
  return of.apply("aten.mul.Scalar", {of[0], std::numbers::pi / 180});
}

Value* rad2deg(const Operands& of) {
  return of.apply("aten.mul.Scalar", {of[0], 180 / std::numbers::pi});
}

// From the nearer end.
Value* lerp(const Operands& of) {
  Value* start = of[0];
  Value* end = of[1];
  Value* weight = of[2];
  Value* span = of.apply("aten.sub.Tensor", {end, start});
  Value* forwards =
      of.apply("aten.add.Tensor", {start, of.apply("aten.mul.Tensor", {weight, span})});
  Value* rest = of.apply("aten.add.Scalar", {of.apply("aten.neg.default", {weight}), 1.0});
  Value* backwards = of.apply("aten.sub.Tensor", {end, of.apply("aten.mul.Tensor", {span, rest})});
  Value* is_near = of.apply("aten.lt.Scalar", {of.apply("aten.abs.default", {weight}), 0.5});
  return of.apply("aten.where.self", {is_near, forwards, backwards});
}

// In float64, whatever the operands are.
Replacement float_power(RewriteContext& at, const Node& node) {
  Value* base = convert(at.builder, node.input(0), DType::kFloat64);
  const Argument& exponent = node.argument(1);
  if (!exponent.is_value()) {
    return replace_by(call(at.builder, "aten.pow.Tensor_Scalar", {base, exponent}));
  }
  Value* wide = convert(at.builder, exponent.value(), DType::kFloat64);
  return replace_by(call(at.builder, "aten.pow.Tensor_Tensor", {base, wide}));
}

constexpr RewriteRow kRows[] = {
    {"aten.logit.default", function<logit>},
    {"aten.xlogy.Tensor", function<xlogy>},
    {"aten.logaddexp.default", function<logaddexp>},
    {"aten.logaddexp2.default", function<logaddexp2>},
    {"aten.hypot.default", function<hypot>},
    {"aten.sinc.default", function<sinc>},
    {"aten.deg2rad.default", function<deg2rad>},
    {"aten.rad2deg.default", function<rad2deg>},
    {"aten.lerp.Tensor", function<lerp>},
    {"aten.float_power.Tensor_Scalar", float_power},
    {"aten.float_power.Tensor_Tensor", float_power},
};

}  // namespace

std::span<const RewriteRow> core_functions() { return kRows; }

}  // namespace unfuse::passes
