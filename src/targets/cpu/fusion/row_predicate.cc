#include "targets/cpu/fusion/row_predicate.h"

#include "passes/canonical.h"
#include "targets/cpu/fusion/matching.h"

namespace unfuse::cpu {
namespace {

/// A mask on the way back to what it was made of.
struct Step {
  Value* value;
  RowLayout layout;
  bool is_negated = false;
};

bool compares_with_zero(const Node& node) {
  return node.argument(1).is_constant_scalar() && node.argument(1).number() == 0;
}

/// Whether zero, and nothing else, becomes zero: 256 does as an int8, and a small float as an
/// integer.
bool keeps_zeros(const Node& conversion) {
  const DType from = conversion.input(0)->dtype();
  const DType to = conversion.result()->dtype();
  if (to == DType::kBool) return true;
  if (is_floating_point(from)) return false;
  return is_floating_point(to) || dtype_size(to) >= dtype_size(from);
}

/// Through what shapes only.
std::optional<Step> before_shaping(const Step& step, const RowSizes& rows) {
  const Node* node = step.value->producer();
  if (node == nullptr) return std::nullopt;
  std::optional<RowLayout> layout;
  if (node->is("aten.reshape.default")) {
    layout = step.layout.reshaped(node->input(0)->sizes());
  } else if (node->is("aten.expand.default")) {
    layout = step.layout.of_operand(node->input(0)->sizes(), step.value->sizes(), rows);
  }
  if (!layout || !layout->has_all_rows(rows)) return std::nullopt;
  return Step{node->input(0), *layout, step.is_negated};
}

std::optional<Step> before(const Step& step, const RowSizes& rows) {
  if (auto shaped = before_shaping(step, rows)) return shaped;
  const Node* node = step.value->producer();
  if (node == nullptr) return std::nullopt;
  const bool negates = node->is("aten.logical_not.default") ||
                       (node->is("aten.eq.Scalar") && compares_with_zero(*node));
  const bool keeps = (node->is("aten.ne.Scalar") && compares_with_zero(*node)) ||
                     (node->is("aten._to_copy.default") && keeps_zeros(*node));
  if (!negates && !keeps) return std::nullopt;
  return Step{node->input(0), step.layout, step.is_negated != negates};
}

}  // namespace

namespace {

/// Beside a key of which at most kLittle is taken off, one of which kMuch is has the weight zero.
constexpr double kMuch = 1e38;
constexpr double kLittle = 1e37;

Value* has_weight(Builder& builder, Value* added) {
  const auto call = [&](const char* op, Arguments arguments) {
    return passes::call(builder, op, std::move(arguments));
  };
  Value* hidden = call("aten.le.Scalar", {added, -kMuch});
  Value* large = call("aten.ge.Scalar", {added, -kLittle});
  Value* any = call("aten.any.dims", {large, Argument::Ints{1}, true});
  return call("aten.logical_not.default", {call("aten.logical_and.default", {hidden, any})});
}

}  // namespace

Value* RowPredicate::build(Builder& builder, Value* placed, const RowSizes& rows) const {
  Value* value = passes::reshape(builder, placed, {rows.batch, rows.length});
  if (is_added) value = has_weight(builder, value);
  if (value->dtype() != DType::kBool) {
    const char* op = is_negated ? "aten.eq.Scalar" : "aten.ne.Scalar";
    return passes::call(builder, op, {value, 0});
  }
  return is_negated ? passes::call(builder, "aten.logical_not.default", {value}) : value;
}

std::optional<RowPredicate> row_predicate(Value* mask, const RowLayout& layout,
                                          const RowSizes& rows) {
  std::optional<RowPredicate> found;
  for (std::optional<Step> step = Step{mask, layout}; step; step = before(*step, rows)) {
    if (step->layout.is_rows_only(rows)) found = {step->value, step->is_negated};
  }
  return found;
}

std::optional<RowPredicate> weight_predicate(Value* mask, const RowLayout& layout,
                                             const RowSizes& rows) {
  std::optional<Step> step = Step{mask, layout};
  while (step && !step->layout.is_rows_only(rows)) step = before_shaping(*step, rows);
  if (!step) return std::nullopt;
  return RowPredicate{step->value, false, true};
}

// Of a and b, both are true where the whole is; so not (a and b) is true where not a is.
bool is_implied(const RowPredicate& predicate, const RowPredicate& by, const RowSizes& rows) {
  if (predicate == by) return true;
  if (!predicate.is_negated || !predicate.root->produced_by("aten.logical_and.default")) {
    return false;
  }
  const Node& both = *predicate.root->producer();
  for (const int side : {0, 1}) {
    Value* part = both.input(side);
    if (part->sizes() != std::vector<Dim>{rows.batch, rows.length}) continue;
    const auto part_predicate =
        row_predicate(part, RowLayout::with_rows_at(part->sizes(), 0, 1), rows);
    if (part_predicate && part_predicate->negated() == by) return true;
  }
  return false;
}

}  // namespace unfuse::cpu
