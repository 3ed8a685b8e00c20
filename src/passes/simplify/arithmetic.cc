// Arithmetic that changes nothing. Exactly nothing: x + 0 is not x for x = -0.0, so only integers
// lose it; x - 0, x * 1 and x / 1 are x, NaN and all. And masks that go through a float tensor and
// back: zeros filled where a mask is true and read as bool again are the mask.
#include <cmath>
#include <optional>

#include "passes/simplify/rewrites.h"

namespace unfuse::passes {
namespace {

bool is_number(const Argument& argument, double value) {
  return argument.is_constant_scalar() && argument.number() == value;
}

bool keeps_type(const Node& node) {
  return node.input(0)->dtype() == node.result()->dtype() &&
         node.input(0)->sizes() == node.result()->sizes();
}

Replacement when(bool nothing_changes, const Node& node) {
  return nothing_changes && keeps_type(node) ? replace_by(node.input(0)) : kKeep;
}

Replacement add_number(RewriteContext&, const Node& node) {
  const bool exact = !is_floating_point(node.result()->dtype());
  return when(exact && is_number(node.argument(1), 0.0), node);
}

Replacement sub_number(RewriteContext&, const Node& node) {
  return when(is_number(node.argument(1), 0.0), node);
}

Replacement mul_number(RewriteContext&, const Node& node) {
  return when(is_number(node.argument(1), 1.0), node);
}

Replacement clamp(RewriteContext&, const Node& node) {
  return when(node.argument(1).is_none() && node.argument(2).is_none(), node);
}

bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (is_floating_point(from) && is_floating_point(to)) {
    if (to == DType::kFloat64) return true;
    return to == DType::kFloat32 && from != DType::kFloat64;
  }
  if (is_integer(from) && to == DType::kInt64) return from != DType::kUInt64;
  return false;
}

// The mask under `value` when it is zero where the mask is false and not zero where it is true;
// null otherwise.
Value* mask_under(const Value* value) {
  const Node* node = value->producer();
  if (node == nullptr || !node->is("aten.masked_fill.Scalar")) return nullptr;
  const Value* filled = node->input(0);
  const bool of_zeros =
      filled->produced_by("aten.full.default") && is_number(filled->producer()->argument(1), 0.0);
  // Not so small that it would become 0 in the tensor's dtype.
  const Argument& number = node->argument(2);
  const bool marks = number.is_constant_scalar() && !(std::abs(number.number()) < 1e-6);
  return of_zeros && marks ? node->input(1) : nullptr;
}

// The number must not become 0 in the tensor's dtype: 0.5 in an integer tensor would.
bool stays_nonzero(const Value* value) {
  return is_floating_point(value->dtype()) || value->dtype() == DType::kBool;
}

Replacement conversion(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const DType wanted = node.result()->dtype();
  if (self->dtype() == wanted) return replace_by(self);
  if (wanted == DType::kBool && stays_nonzero(self)) {
    if (Value* mask = mask_under(self)) {
      return replace_by(expand(at.builder, mask, node.result()->sizes()));
    }
  }
  if (!self->produced_by("aten._to_copy.default")) return kKeep;
  Value* inner = self->producer()->input(0);
  if (!is_lossless(inner->dtype(), self->dtype())) return kKeep;
  return replace_by(convert(at.builder, inner, wanted));
}

// ne(filled, 0) is the mask, as the conversion to bool is.
Replacement not_equal(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  if (!is_number(node.argument(1), 0.0)) return kKeep;
  if (self->dtype() == DType::kBool) return replace_by(self);
  Value* mask = stays_nonzero(self) ? mask_under(self) : nullptr;
  if (mask == nullptr) return kKeep;
  return replace_by(expand(at.builder, mask, node.result()->sizes()));
}

// eq(m, 0) of a bool is its negation.
Replacement equal_number(RewriteContext& at, const Node& node) {
  if (node.input(0)->dtype() != DType::kBool) return kKeep;
  if (is_number(node.argument(1), 1.0)) return replace_by(node.input(0));
  if (!is_number(node.argument(1), 0.0)) return kKeep;
  return at.become(node, "aten.logical_not.default", {node.input(0)});
}

// Not of not; not of an equality. The other comparisons are not each other's negation, for NaN.
Replacement logical_not(RewriteContext& at, const Node& node) {
  const Node* inner = node.input(0)->producer();
  if (inner == nullptr) return kKeep;
  if (inner->is("aten.logical_not.default") && inner->input(0)->dtype() == DType::kBool) {
    return replace_by(inner->input(0));
  }
  struct Negation {
    std::string_view op, negated;
  };
  constexpr Negation kNegations[] = {{"aten.eq.Scalar", "aten.ne.Scalar"},
                                     {"aten.ne.Scalar", "aten.eq.Scalar"},
                                     {"aten.eq.Tensor", "aten.ne.Tensor"},
                                     {"aten.ne.Tensor", "aten.eq.Tensor"}};
  for (const Negation& negation : kNegations) {
    if (!inner->is(negation.op)) continue;
    return at.become(node, negation.negated, {inner->argument(0), inner->argument(1)});
  }
  return kKeep;
}

// The one bool that a condition holds everywhere, when it is known.
std::optional<bool> uniform_condition(const Value* condition) {
  if (!condition->produced_by("aten.full.default")) return std::nullopt;
  const Argument& number = condition->producer()->argument(1);
  if (!number.is_constant_scalar()) return std::nullopt;
  return number.number() != 0.0;
}

Replacement where(RewriteContext& at, const Node& node) {
  Value* chosen = nullptr;
  if (node.input(1) == node.input(2)) chosen = node.input(1);
  if (const auto condition = uniform_condition(node.input(0))) {
    chosen = *condition ? node.input(1) : node.input(2);
  }
  if (chosen == nullptr) return kKeep;
  return replace_by(expand(at.builder, convert(at.builder, chosen, node.result()->dtype()),
                           node.result()->sizes()));
}

Replacement masked_fill(RewriteContext& at, const Node& node) {
  const auto condition = uniform_condition(node.input(1));
  if (!condition) return kKeep;
  const TensorType& type = node.result()->tensor();
  if (*condition) return replace_by(full(at.builder, type.sizes, node.argument(2), type.dtype));
  return replace_by(expand(at.builder, node.input(0), type.sizes));
}

constexpr RewriteRow kRows[] = {
    {"aten.add.Scalar", add_number},
    {"aten.sub.Scalar", sub_number},
    {"aten.mul.Scalar", mul_number},
    {"aten.div.Scalar", mul_number},
    {"aten.clamp.default", clamp},
    {"aten._to_copy.default", conversion},
    {"aten.ne.Scalar", not_equal},
    {"aten.eq.Scalar", equal_number},
    {"aten.logical_not.default", logical_not},
    {"aten.where.self", where},
    {"aten.masked_fill.Scalar", masked_fill},
};

}  // namespace

std::span<const RewriteRow> arithmetic_identities() { return kRows; }

}  // namespace unfuse::passes
