#include "passes/decompose/attention_mask.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/canonical.h"

namespace unfuse::passes {
namespace {

bool is_view(std::string_view op) {
  return op == "aten.expand.default" || op == "aten.reshape.default" ||
         op == "aten.permute.default" || op == "aten.slice.Tensor" || op == "aten.select.int";
}

bool copies_elements(std::string_view op) {
  return op == "aten._to_copy.default" || op == "aten.clone.default";
}

// The number that all elements are, when the graph says so.
std::optional<double> filled_with(Argument argument) {
  while (argument.is_value()) {
    const Node* node = argument.value()->producer();
    if (node == nullptr) return std::nullopt;
    const std::string_view op = node->op().name;
    if (op == "aten.zeros.default" || op == "aten.zeros_like.default") return 0.0;
    if (op == "aten.ones.default" || op == "aten.ones_like.default") return 1.0;
    if (op == "aten.full.default") {
      argument = node->argument("fill_value");
    } else if (is_view(op) || copies_elements(op) || op == "aten.scalar_tensor.default") {
      argument = node->argument(0);
    } else {
      return std::nullopt;
    }
  }
  if (!argument.is_constant_scalar()) return std::nullopt;
  return argument.number();
}

bool is_filled_with(const Argument& argument, double number) {
  const std::optional<double> filled = filled_with(argument);
  return filled && *filled == number;
}

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// The same view of another tensor of the same sizes.
Value* same_view(Builder& builder, const Node& view, Value* of) {
  Arguments positional;
  std::vector<KeywordArgument> keywords;
  const auto& schema = view.op().schema.arguments;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].keyword_only) {
      keywords.push_back({schema[i].name, view.arguments()[i]});
    } else {
      positional.push_back(i == 0 ? Argument(of) : view.arguments()[i]);
    }
  }
  return builder.call(view.op(), std::move(positional), keywords);
}

// How many nodes a mask is followed through at most; models have less than ten.
constexpr int kSearchedNodes = 256;

Value* minus_infinite(Builder& builder, Value* mask, int& budget);

// zeros with -inf filled in
Value* of_masked_fill(Builder& builder, const Node& fill) {
  if (!is_filled_with(fill.argument(0), 0)) return nullptr;
  if (!is_filled_with(fill.argument(2), kMinusInfinity)) return nullptr;
  return expand(builder, fill.input(1), fill.result()->sizes());
}

// where(attended, 0, -inf), or the other way round
Value* of_where(Builder& builder, const Node& where) {
  if (where.arguments().size() != 3) return nullptr;
  const Argument& where_true = where.argument(1);
  const Argument& where_false = where.argument(2);
  if (is_filled_with(where_true, 0) && is_filled_with(where_false, kMinusInfinity)) {
    return negate(builder, expand(builder, where.input(0), where.result()->sizes()));
  }
  if (is_filled_with(where_true, kMinusInfinity) && is_filled_with(where_false, 0)) {
    return expand(builder, where.input(0), where.result()->sizes());
  }
  return nullptr;
}

// triu of a tensor of -inf: what generate_square_subsequent_mask makes
Value* of_triu(Builder& builder, const Node& triu) {
  if (!is_filled_with(triu.argument(0), kMinusInfinity)) return nullptr;
  Value* ones = full(builder, triu.result()->sizes(), true, DType::kBool);
  return call(builder, triu.op().name, {ones, triu.argument(1)});
}

Value* of_sum(Builder& builder, const Node& add, int& budget) {
  if (!add.argument(1).is_value() || !is_filled_with(add.argument("alpha"), 1)) return nullptr;
  Value* left = minus_infinite(builder, add.input(0), budget);
  if (left == nullptr) return nullptr;
  Value* right = minus_infinite(builder, add.input(1), budget);
  if (right == nullptr) return nullptr;
  return call(builder, "aten.logical_or.default", {left, right});
}

// Null when it cannot be shown that every element is 0 or -inf; else true where it is -inf.
Value* minus_infinite(Builder& builder, Value* mask, int& budget) {
  const Node* node = mask->producer();
  if (node == nullptr || --budget < 0 || !is_floating_point(mask->dtype())) return nullptr;
  const std::string_view op = node->op().name;
  if (op.starts_with("aten.masked_fill.")) return of_masked_fill(builder, *node);
  if (op.starts_with("aten.where.")) return of_where(builder, *node);
  if (op == "aten.triu.default") return of_triu(builder, *node);
  if (op == "aten.add.Tensor") return of_sum(builder, *node, budget);
  if (copies_elements(op)) return minus_infinite(builder, node->input(0), budget);
  if (!is_view(op)) return nullptr;
  Value* viewed = minus_infinite(builder, node->input(0), budget);
  return viewed == nullptr ? nullptr : same_view(builder, *node, viewed);
}

// A view that leaves the last two dimensions alone: their sizes, and what they index.
bool keeps_last_two(const Node& view) {
  const Value* from = view.input(0);
  const Value* to = view.result();
  if (from->rank() < 2 || to->rank() < 2) return false;
  if (from->size(-1) != to->size(-1) || from->size(-2) != to->size(-2)) return false;
  if (view.is("aten.expand.default")) return true;
  // With all dimensions in front of size 1 there is nothing else that they could index.
  if (!view.is("aten.reshape.default")) return false;
  return from->tensor().numel() == from->size(-1) * from->size(-2);
}

// What a tensor of zeros and ones is made of, by conversions and by views that leave the last two
// dimensions alone.
const Node* behind_views(const Value* value) {
  while (const Node* node = value->producer()) {
    const bool view = node->is("aten.expand.default") || node->is("aten.reshape.default");
    if (view && !keeps_last_two(*node)) return nullptr;
    if (!view && !copies_elements(node->op().name)) return node;
    value = node->input(0);
  }
  return nullptr;
}

bool is_triangle_of_ones(const Node* node, std::string_view op, double diagonal) {
  return node != nullptr && node->is(op) && is_filled_with(node->argument(0), 1) &&
         is_filled_with(node->argument(1), diagonal);
}

// tril(ones), or what is the same: not triu(ones, 1).
bool is_causal_pattern(const Value* attended) {
  const Node* node = behind_views(attended);
  if (node == nullptr) return false;
  if (is_triangle_of_ones(node, "aten.tril.default", 0)) return true;
  return node->is("aten.logical_not.default") &&
         is_triangle_of_ones(behind_views(node->input(0)), "aten.triu.default", 1);
}

// The operands of a conjunction, also where it is written as not (a or b).
struct Conjunction {
  Value* left = nullptr;
  Value* right = nullptr;
};

std::optional<Conjunction> conjunction(Builder& builder, Value* attended) {
  const Node* node = attended->producer();
  if (node == nullptr) return std::nullopt;
  if (node->is("aten.logical_and.default")) return Conjunction{node->input(0), node->input(1)};
  if (!node->is("aten.logical_not.default")) return std::nullopt;
  const Node* masked = node->input(0)->producer();
  if (masked == nullptr || !masked->is("aten.logical_or.default")) return std::nullopt;
  return Conjunction{negate(builder, masked->input(0)), negate(builder, masked->input(1))};
}

}  // namespace

Value* negate(Builder& builder, Value* value) {
  if (value->produced_by("aten.logical_not.default")) {
    Value* operand = value->producer()->input(0);
    if (operand->dtype() == DType::kBool) return operand;
  }
  return call(builder, "aten.logical_not.default", {value});
}

NonzeroMask nonzero_of(Builder& builder, Value* mask) {
  if (mask->dtype() == DType::kBool) return {mask, true};
  int budget = kSearchedNodes;
  if (Value* masked = minus_infinite(builder, mask, budget)) return {masked, true};
  return {call(builder, "aten.ne.Scalar", {mask, 0}), false};
}

AttentionMask read_attended(Builder& builder, Value* attended) {
  if (is_causal_pattern(attended)) return {nullptr, true};
  if (const auto both = conjunction(builder, attended)) {
    if (is_causal_pattern(both->left)) return {both->right, true};
    if (is_causal_pattern(both->right)) return {both->left, true};
  }
  return {attended, false};
}

AttentionMask read_added_mask(Builder& builder, Value* mask) {
  int budget = kSearchedNodes;
  Value* masked = minus_infinite(builder, mask, budget);
  if (masked == nullptr) return {mask, false};
  return read_attended(builder, negate(builder, masked));
}

}  // namespace unfuse::passes
