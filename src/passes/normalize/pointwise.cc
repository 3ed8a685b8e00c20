// Pointwise ops that are a few others in one, or another op for some numbers or dtypes. Only what
// is exact is here: torch itself computes pow(x, 2) as x * x.
#include <optional>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

std::optional<double> number(const Argument& argument) {
  if (!argument.is_constant_scalar()) return std::nullopt;
  return argument.number();
}

bool all_bool(const Node& node) {
  for (const Value* value : node.operands()) {
    if (value->dtype() != DType::kBool) return false;
  }
  return node.argument(1).is_value();
}

Replacement square(RewriteContext& at, const Node& node) {
  return at.become(node, "aten.mul.Tensor", {node.input(0), node.input(0)});
}

Replacement pow_number(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const auto exponent = number(node.argument(1));
  if (!exponent || self->dtype() != node.result()->dtype()) return kKeep;
  if (*exponent == 1.0) return replace_by(self);
  if (*exponent == 2.0) return square(at, node);
  if (!is_floating_point(self->dtype())) return kKeep;
  if (*exponent == 3.0) {
    Value* squared = at.call("aten.mul.Tensor", {self, self});
    return replace_by(at.call("aten.mul.Tensor", {squared, self}));
  }
  if (*exponent == 0.5) return at.become(node, "aten.sqrt.default", {self});
  if (*exponent == -0.5) return at.become(node, "aten.rsqrt.default", {self});
  if (*exponent == -1.0) return at.become(node, "aten.reciprocal.default", {self});
  return kKeep;
}

// rsub(x, y) = y - alpha * x
Replacement rsub(RewriteContext& at, const Node& node) {
  if (!node.argument(1).is_value()) return kKeep;
  return at.become(node, "aten.sub.Tensor", {node.input(1), node.input(0)},
                   {{"alpha", node.argument("alpha")}});
}

// self + value * (one op two)
Replacement add_combined(RewriteContext& at, const Node& node, std::string_view op) {
  const DType dtype = node.result()->dtype();
  if (node.input(0)->dtype() != dtype || !is_floating_point(dtype)) return kKeep;
  if (node.input(1)->dtype() != dtype || node.input(2)->dtype() != dtype) return kKeep;
  Value* combined = at.call(op, {node.input(1), node.input(2)});
  return replace_by(
      at.call("aten.add.Tensor", {node.input(0), combined}, {{"alpha", node.argument("value")}}));
}

Replacement addcmul(RewriteContext& at, const Node& node) {
  return add_combined(at, node, "aten.mul.Tensor");
}

Replacement addcdiv(RewriteContext& at, const Node& node) {
  return add_combined(at, node, "aten.div.Tensor");
}

// Bounds that would change the dtype (an int tensor, a float bound) stay with the op that says so.
Replacement clamp_to(RewriteContext& at, const Node& node, Argument low, Argument high) {
  return at.become(node, "aten.clamp.default", {node.input(0), std::move(low), std::move(high)});
}

// The second result is for the backward pass.
Replacement log_sigmoid_forward(RewriteContext& at, const Node& node) {
  if (node.result(1)->use_count() > 0) return kKeep;
  return std::vector<Value*>{at.call("aten.log_sigmoid.default", {node.input(0)}), nullptr};
}

Replacement clamp_min(RewriteContext& at, const Node& node) {
  return clamp_to(at, node, node.argument(1), Argument());
}
Replacement clamp_max(RewriteContext& at, const Node& node) {
  return clamp_to(at, node, Argument(), node.argument(1));
}
Replacement hardtanh(RewriteContext& at, const Node& node) {
  return clamp_to(at, node, node.argument(1), node.argument(2));
}
Replacement relu6(RewriteContext& at, const Node& node) { return clamp_to(at, node, 0, 6); }

Replacement clamp_tensor(RewriteContext& at, const Node& node) {
  Value* value = node.input(0);
  const Argument& low = node.argument(1);
  const Argument& high = node.argument(2);
  const auto is_number = [](const Argument& bound) {
    return !bound.is_none() && !bound.is_value();
  };
  if (is_number(low) || is_number(high)) return kKeep;
  if (low.is_value()) value = at.call("aten.maximum.default", {value, low});
  if (high.is_value()) value = at.call("aten.minimum.default", {value, high});
  return replace_by(value);
}

Replacement clamp_min_tensor(RewriteContext& at, const Node& node) {
  if (!node.argument(1).is_value()) return clamp_min(at, node);
  return at.become(node, "aten.maximum.default", {node.input(0), node.input(1)});
}

Replacement clamp_max_tensor(RewriteContext& at, const Node& node) {
  if (!node.argument(1).is_value()) return clamp_max(at, node);
  return at.become(node, "aten.minimum.default", {node.input(0), node.input(1)});
}

Replacement glu(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const std::int64_t dimension = wrap_dimension(node.argument("dim").integer(), self->rank());
  const Dim& half = node.result()->size(dimension);
  Value* value = slice(at.builder, self, dimension, 0, half);
  Value* gate = slice(at.builder, self, dimension, half, half + half);
  return replace_by(at.call("aten.mul.Tensor", {value, at.call("aten.sigmoid.default", {gate})}));
}

// On bools, bitwise and logical are one; so are products and conjunctions.
Replacement logical_on_bools(RewriteContext& at, const Node& node, std::string_view op) {
  if (!all_bool(node)) return kKeep;
  return at.become(node, op, {node.input(0), node.input(1)});
}

Replacement bitwise_and(RewriteContext& at, const Node& node) {
  return logical_on_bools(at, node, "aten.logical_and.default");
}
Replacement bitwise_or(RewriteContext& at, const Node& node) {
  return logical_on_bools(at, node, "aten.logical_or.default");
}
Replacement bitwise_xor(RewriteContext& at, const Node& node) {
  return logical_on_bools(at, node, "aten.logical_xor.default");
}

Replacement bitwise_not(RewriteContext& at, const Node& node) {
  if (node.input(0)->dtype() != DType::kBool) return kKeep;
  return at.become(node, "aten.logical_not.default", {node.input(0)});
}

// lerp(a, b, w) = a + w * (b - a), or b - (b - a) * (1 - w), whichever is near its end: as torch
// does.
Replacement lerp_number(RewriteContext& at, const Node& node) {
  const auto weight = number(node.argument("weight"));
  Value* start = node.input(0);
  Value* end = node.input(1);
  if (!weight || start->dtype() != end->dtype()) return kKeep;
  Value* difference = at.call("aten.sub.Tensor", {end, start});
  if (*weight < 0.5) {
    return replace_by(at.call("aten.add.Tensor", {start, difference}, {{"alpha", *weight}}));
  }
  return replace_by(at.call("aten.sub.Tensor", {end, difference}, {{"alpha", 1.0 - *weight}}));
}

// The gradient's concern alone is left out.
Replacement embedding(RewriteContext& at, const Node& node) {
  return at.become(node, "aten.embedding.default", {node.input(0), node.input(1)});
}

constexpr RewriteRow kRows[] = {
    {"aten.mul.Tensor", bitwise_and},
    {"aten.square.default", square},
    {"aten.pow.Tensor_Scalar", pow_number},
    {"aten.rsub.Tensor", rsub},
    {"aten.addcmul.default", addcmul},
    {"aten.addcdiv.default", addcdiv},
    {"aten.clamp_min.default", clamp_min},
    {"aten.clamp_min.Tensor", clamp_min_tensor},
    {"aten.clamp_max.default", clamp_max},
    {"aten.clamp_max.Tensor", clamp_max_tensor},
    {"aten.clamp.Tensor", clamp_tensor},
    {"aten.hardtanh.default", hardtanh},
    {"aten.relu6.default", relu6},
    {"aten.log_sigmoid_forward.default", log_sigmoid_forward},
    {"aten.glu.default", glu},
    {"aten.bitwise_and.Tensor", bitwise_and},
    {"aten.bitwise_or.Tensor", bitwise_or},
    {"aten.bitwise_xor.Tensor", bitwise_xor},
    {"aten.bitwise_not.default", bitwise_not},
    {"aten.lerp.Scalar", lerp_number},
    {"aten.embedding.default", embedding},
};

}  // namespace

std::span<const RewriteRow> pointwise_rewrites() { return kRows; }

}  // namespace unfuse::passes
