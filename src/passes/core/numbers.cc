// Tests on numbers, and functions that choose by them.
#include <limits>

#include "ops/numbers_of_dtypes.h"
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* choose(Builder& builder, Value* condition, Value* chosen, Value* other) {
  return call(builder, "aten.where.self", {condition, chosen, other});
}

Value* equals(Builder& builder, Value* value, double number) {
  return call(builder, "aten.eq.Scalar", {value, number});
}

// |x| < inf, which NaN is not; true of every integer.
Replacement isfinite(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  if (!is_floating_point(self->dtype())) {
    return replace_by(call(builder, "aten.eq.Tensor", {self, self}));
  }
  Value* size = call(builder, "aten.abs.default", {self});
  return replace_by(call(builder, "aten.lt.Scalar", {size, kInfinity}));
}

Replacement isposinf(RewriteContext& at, const Node& node) {
  return replace_by(equals(at.builder, node.input(0), kInfinity));
}

Replacement isneginf(RewriteContext& at, const Node& node) {
  return replace_by(equals(at.builder, node.input(0), -kInfinity));
}

Replacement nan_to_num(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  const DType dtype = self->dtype();
  if (!is_floating_point(dtype)) {
    return replace_by(call(builder, "aten.clone.default", {self}));
  }
  const auto number = [&](std::string_view name, double otherwise) {
    const Argument& argument = node.argument(name);
    return scalar(builder, argument.is_none() ? otherwise : argument.number(), dtype);
  };
  const double largest = ops::largest_number(dtype);
  Value* is_nan = call(builder, "aten.isnan.default", {self});
  Value* result = choose(builder, is_nan, number("nan", 0), self);
  Value* above = equals(builder, self, kInfinity);
  result = choose(builder, above, number("posinf", largest), result);
  Value* below = equals(builder, self, -kInfinity);
  return replace_by(choose(builder, below, number("neginf", -largest), result));
}

// `values` at zero, else whether it is above.
Replacement heaviside(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  Value* step = convert(builder, call(builder, "aten.gt.Scalar", {self, 0}), self->dtype());
  return replace_by(choose(builder, equals(builder, self, 0), node.input(1), step));
}

// The other one where one is NaN.
template <bool kLarger>
Replacement one_that_is_number(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  const DType dtype = node.result()->dtype();
  Value* left = convert(builder, node.input(0), dtype);
  Value* right = convert(builder, node.input(1), dtype);
  const char* op = kLarger ? "aten.maximum.default" : "aten.minimum.default";
  Value* result = call(builder, op, {left, right});
  if (!is_floating_point(dtype)) return replace_by(result);
  result = choose(builder, call(builder, "aten.isnan.default", {right}), left, result);
  return replace_by(choose(builder, call(builder, "aten.isnan.default", {left}), right, result));
}

// |self - other| <= atol + |rtol * other|, or equal: infinities are close to themselves alone.
Replacement isclose(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  Value* other = node.input(1);
  Value* close = call(builder, "aten.eq.Tensor", {self, other});
  const bool is_float = is_floating_point(self->dtype());
  if (is_float && node.argument("equal_nan").boolean()) {
    Value* both = call(builder, "aten.logical_and.default",
                       {call(builder, "aten.isnan.default", {self}),
                        call(builder, "aten.isnan.default", {other})});
    close = call(builder, "aten.logical_or.default", {close, both});
  }
  const double relative = node.argument("rtol").number();
  const double absolute = node.argument("atol").number();
  if (relative == 0 && absolute == 0) return replace_by(close);
  if (!is_float) other = convert(builder, other, DType::kFloat32);
  Value* allowed =
      call(builder, "aten.abs.default", {call(builder, "aten.mul.Scalar", {other, relative})});
  allowed = call(builder, "aten.add.Scalar", {allowed, absolute});
  Value* distance =
      call(builder, "aten.abs.default", {call(builder, "aten.sub.Tensor", {self, other})});
  Value* within = call(builder, "aten.logical_and.default",
                       {call(builder, "aten.isfinite.default", {distance}),
                        call(builder, "aten.le.Tensor", {distance, allowed})});
  return replace_by(call(builder, "aten.logical_or.default", {close, within}));
}

Replacement sgn(RewriteContext& at, const Node& node) {
  return at.become(node, "aten.sign.default", {node.input(0)});
}

Replacement masked_fill(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  Value* value = convert(at.builder, node.input(2), self->dtype());
  return replace_by(choose(at.builder, node.input(1), value, self));
}

constexpr RewriteRow kRows[] = {{"aten.isfinite.default", isfinite},
                                {"aten.isposinf.default", isposinf},
                                {"aten.isneginf.default", isneginf},
                                {"aten.nan_to_num.default", nan_to_num},
                                {"aten.heaviside.default", heaviside},
                                {"aten.sgn.default", sgn},
                                {"aten.masked_fill.Tensor", masked_fill},
                                {"aten.isclose.default", isclose},
                                {"aten.fmax.default", one_that_is_number<true>},
                                {"aten.fmin.default", one_that_is_number<false>}};

}  // namespace

std::span<const RewriteRow> core_numbers() { return kRows; }

}  // namespace unfuse::passes
