// What is made of positions: tril, triu, eye, linspace.
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

// Half of them counted from either end, as PyTorch does.
Replacement linspace(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  const TensorType& type = node.result()->tensor();
  const auto steps = type.sizes[0].constant();
  if (!steps || *steps < 2 || !is_floating_point(type.dtype)) return kKeep;
  const double start = node.argument("start").number();
  const double end = node.argument("end").number();
  const double step = (end - start) / static_cast<double>(*steps - 1);
  Value* position = positions(builder, type.sizes[0]);
  Value* number = convert(builder, position, computed_in(type.dtype));
  Value* from_start =
      call(builder, "aten.add.Scalar", {call(builder, "aten.mul.Scalar", {number, step}), start});
  Value* left =
      call(builder, "aten.add.Scalar", {call(builder, "aten.neg.default", {number}), *steps - 1});
  Value* from_end =
      call(builder, "aten.add.Scalar", {call(builder, "aten.mul.Scalar", {left, -step}), end});
  Value* first_half = call(builder, "aten.lt.Scalar", {position, *steps / 2});
  Value* result = call(builder, "aten.where.self", {first_half, from_start, from_end});
  return replace_by(convert(builder, result, type.dtype));
}

constexpr RewriteRow kRows[] = {{"aten.tril.default", tril},
                                {"aten.triu.default", triu},
                                {"aten.eye.default", eye},
                                {"aten.eye.m", eye},
                                {"aten.linspace.default", linspace}};

}  // namespace

std::span<const RewriteRow> core_creation() { return kRows; }

}  // namespace unfuse::passes
