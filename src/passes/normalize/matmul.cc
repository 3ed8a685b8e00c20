// Matrix products: one op, matmul, of operands with two dimensions or more whose batch dimensions
// broadcast. AOTAutograd writes a batched matmul as expand, reshape to three dimensions, bmm,
// reshape back; the reshapes are moved behind the product here, where simplify() merges them away,
// and the expands are left to the product's own broadcasting.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

// A vector on the left is a row, on the right a column.
Value* as_matrix(RewriteContext& at, Value* value, bool row) {
  if (value->rank() != 1) return value;
  return unsqueeze(at.builder, value, row ? 0 : 1);
}

Replacement product_of(RewriteContext& at, const Node& node, Value* self, Value* other) {
  const bool matrices = self->rank() >= 2 && other->rank() >= 2;
  if (matrices) return at.become(node, "aten.matmul.default", {self, other});
  Value* made =
      at.call("aten.matmul.default", {as_matrix(at, self, true), as_matrix(at, other, false)});
  return replace_by(reshape(at.builder, made, node.result()->sizes()));
}

Replacement matmul(RewriteContext& at, const Node& node) {
  if (node.input(0)->rank() == 0 || node.input(1)->rank() == 0) return kKeep;
  return product_of(at, node, node.input(0), node.input(1));
}

// outer(a, b) = a column times a row: a product element by element, since there is nothing to sum.
Replacement outer(RewriteContext& at, const Node& node) {
  Value* column = unsqueeze(at.builder, node.input(0), 1);
  Value* row = unsqueeze(at.builder, node.input(1), 0);
  return replace_by(at.call("aten.mul.Tensor", {column, row}));
}

bool is_number(const Argument& argument, double value) {
  return argument.is_constant_scalar() && argument.number() == value;
}

// beta * self + alpha * (left @ right); self is not read at all when beta is 0.
Replacement added_product(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  Value* left = node.input(1);
  Value* right = node.input(2);
  Value* made =
      at.call("aten.matmul.default", {as_matrix(at, left, true), as_matrix(at, right, false)});
  made = reshape(at.builder, made, node.result()->sizes());
  const Argument& alpha = node.argument("alpha");
  const Argument& beta = node.argument("beta");
  if (is_number(beta, 0.0)) {
    if (!is_number(alpha, 1.0)) made = at.call("aten.mul.Scalar", {made, alpha});
    return replace_by(made);
  }
  if (!is_number(beta, 1.0)) self = at.call("aten.mul.Scalar", {self, beta});
  return replace_by(at.call("aten.add.Tensor", {self, made}, {{"alpha", alpha}}));
}

bool keeps_matrices(const Node& reshape_node) {
  const std::vector<Dim>& from = reshape_node.input(0)->sizes();
  const std::vector<Dim>& to = reshape_node.result()->sizes();
  return from.size() >= 2 && to.size() >= 2 && from[from.size() - 1] == to[to.size() - 1] &&
         from[from.size() - 2] == to[to.size() - 2];
}

std::vector<Dim> batch_sizes(const Value* value) {
  return {value->sizes().begin(), value->sizes().end() - 2};
}

// matmul(reshape(a), reshape(b)) = reshape(matmul(a, b)) when both merge the same batch dimensions.
Replacement reshape_last(RewriteContext& at, const Node& node) {
  const Value* left = node.input(0);
  const Value* right = node.input(1);
  if (!left->produced_by("aten.reshape.default") || !right->produced_by("aten.reshape.default")) {
    return kKeep;
  }
  const Node& left_reshape = *left->producer();
  const Node& right_reshape = *right->producer();
  if (!keeps_matrices(left_reshape) || !keeps_matrices(right_reshape)) return kKeep;
  Value* a = left_reshape.input(0);
  Value* b = right_reshape.input(0);
  if (batch_sizes(a) != batch_sizes(b) || batch_sizes(left) != batch_sizes(right)) return kKeep;
  Value* made = at.call("aten.matmul.default", {a, b});
  return replace_by(reshape(at.builder, made, node.result()->sizes()));
}

// Whether `other` alone gives the batch dimensions of the result that `expanded` was expanded to.
bool broadcast_gives(const Value* narrow, const Value* other, const std::vector<Dim>& result) {
  const std::size_t batch = result.size() - 2;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto from_end = static_cast<std::int64_t>(result.size() - i);
    const bool other_has = from_end <= other->rank() && other->size(-from_end) == result[i];
    const bool narrow_has = from_end <= narrow->rank() && narrow->size(-from_end) == result[i];
    if (!other_has && !narrow_has) return false;
  }
  return true;
}

Value* without_expand(Value* value, const Value* other, const std::vector<Dim>& result) {
  if (!value->produced_by("aten.expand.default")) return value;
  Value* narrow = value->producer()->input(0);
  const bool same_matrix = narrow->rank() >= 2 && narrow->size(-1) == value->size(-1) &&
                           narrow->size(-2) == value->size(-2);
  return same_matrix && broadcast_gives(narrow, other, result) ? narrow : value;
}

Replacement leave_broadcasting(RewriteContext& at, const Node& node) {
  const std::vector<Dim>& result = node.result()->sizes();
  if (node.input(0)->rank() < 2 || node.input(1)->rank() < 2) return kKeep;
  Value* left = without_expand(node.input(0), node.input(1), result);
  Value* right = without_expand(node.input(1), left, result);
  return at.become(node, "aten.matmul.default", {left, right});
}

constexpr RewriteRow kRows[] = {
    {"aten.mm.default", matmul},
    {"aten.bmm.default", matmul},
    {"aten.matmul.default", matmul},
    {"aten.matmul.default", reshape_last},
    {"aten.matmul.default", leave_broadcasting},
    {"aten.mv.default", matmul},
    {"aten.dot.default", matmul},
    {"aten.vdot.default", matmul},
    {"aten.outer.default", outer},
    {"aten.addmm.default", added_product},
    {"aten.baddbmm.default", added_product},
    {"aten.addmv.default", added_product},
};

}  // namespace

std::span<const RewriteRow> matmul_rewrites() { return kRows; }

}  // namespace unfuse::passes
