// tril, triu and eye, as comparisons of positions.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

Value* positions(Builder& builder, const Dim& count) {
  return call(builder, "aten.arange.start_step", {0, count, 1}, {{"dtype", DType::kInt64}});
}

// Zeros where the row and the column do not compare as `op` says: column - row <op> diagonal.
Replacement triangle(RewriteContext& at, const Node& node, std::string_view op) {
  Value* self = node.input(0);
  Builder& builder = at.builder;
  const Dim rows = self->size(-2);
  Value* row = view(builder, positions(builder, rows), {rows, 1});
  Value* last = call(builder, "aten.add.Scalar", {row, node.argument(1)});
  Value* kept = call(builder, op, {positions(builder, self->size(-1)), last});
  if (self->dtype() == DType::kBool) {
    return replace_by(call(builder, "aten.logical_and.default", {self, kept}));
  }
  return replace_by(
      call(builder, "aten.where.self", {kept, self, scalar(builder, Argument(0), self->dtype())}));
}

Replacement tril(RewriteContext& at, const Node& node) {
  return triangle(at, node, "aten.le.Tensor");
}
Replacement triu(RewriteContext& at, const Node& node) {
  return triangle(at, node, "aten.ge.Tensor");
}

// Ones where the row is the column.
Replacement eye(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  const TensorType& type = node.result()->tensor();
  Value* rows = view(builder, positions(builder, type.sizes[0]), {type.sizes[0], 1});
  Value* same = call(builder, "aten.eq.Tensor", {rows, positions(builder, type.sizes[1])});
  return replace_by(convert(builder, same, type.dtype));
}

constexpr RewriteRow kRows[] = {{"aten.tril.default", tril},
                                {"aten.triu.default", triu},
                                {"aten.eye.default", eye},
                                {"aten.eye.m", eye}};

}  // namespace

std::span<const RewriteRow> core_creation() { return kRows; }

}  // namespace unfuse::passes
