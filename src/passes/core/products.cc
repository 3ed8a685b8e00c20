// linear and matmul, as products of two or three dimensions.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

// [..., K] -> [M, K]
Value* rows_of(Builder& builder, Value* value) {
  const Dim& columns = value->size(-1);
  Dim rows(1);
  for (std::int64_t i = 0; i + 1 < value->rank(); ++i) rows *= value->size(i);
  return view(builder, value, {rows, columns});
}

Replacement linear(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* weight = node.input(1);
  if (weight->rank() != 2) return kKeep;
  Value* rows = rows_of(builder, node.input(0));
  Value* columns = transpose(builder, weight, 0, 1);
  Value* bias = node.argument(2).value_or_null();
  Value* product = bias == nullptr ? call(builder, "aten.mm.default", {rows, columns})
                                   : call(builder, "aten.addmm.default", {bias, rows, columns});
  return replace_by(view(builder, product, node.result()->sizes()));
}

// [..., X, Y] with its batch dimensions broadcast, as [B, X, Y].
Value* one_batch(Builder& builder, Value* value, const std::vector<Dim>& batch) {
  std::vector<Dim> sizes = batch;
  sizes.push_back(value->size(-2));
  sizes.push_back(value->size(-1));
  Value* spread = expand(builder, value, sizes);
  return view(builder, spread, {product(batch), value->size(-2), value->size(-1)});
}

Replacement matmul(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* left = node.input(0);
  Value* right = node.input(1);
  const std::vector<Dim>& sizes = node.result()->sizes();
  if (left->rank() < 2 || right->rank() < 2) return kKeep;
  if (right->rank() == 2) {
    Value* product = call(builder, "aten.mm.default", {rows_of(builder, left), right});
    return replace_by(view(builder, product, sizes));
  }
  const std::vector<Dim> batch(sizes.begin(), sizes.end() - 2);
  Value* product = call(builder, "aten.bmm.default",
                        {one_batch(builder, left, batch), one_batch(builder, right, batch)});
  return replace_by(view(builder, product, sizes));
}

constexpr RewriteRow kRows[] = {{"aten.linear.default", linear}, {"aten.matmul.default", matmul}};

}  // namespace

std::span<const RewriteRow> core_products() { return kRows; }

}  // namespace unfuse::passes
