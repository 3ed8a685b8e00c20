// bilinear, and the product of three tensors that torch makes of it: two matrix products.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

// left [..., I], weight [O, I, J], right [..., J] -> [..., O]
Value* bilinear_product(RewriteContext& at, Value* left, Value* weight, Value* right) {
  const Dim& outputs = weight->size(0);
  const Dim& width = weight->size(2);
  Value* columns = reshape(at.builder, permute(at.builder, weight, {1, 0, 2}),
                           {weight->size(1), outputs * width});
  std::vector<Dim> sizes = left->sizes();
  sizes.back() = outputs;
  std::vector<Dim> matrices = sizes;
  matrices.push_back(width);
  Value* half = reshape(at.builder, at.call("aten.matmul.default", {left, columns}), matrices);
  Value* whole = at.call("aten.matmul.default", {half, unsqueeze(at.builder, right, -1)});
  return reshape(at.builder, whole, sizes);
}

bool is_bilinear(const Value* left, const Value* weight, const Value* right) {
  return weight->rank() == 3 && left->rank() >= 1 && left->rank() == right->rank() &&
         left->dtype() == weight->dtype() && right->dtype() == weight->dtype();
}

Replacement bilinear(RewriteContext& at, const Node& node) {
  Value* left = node.input(0);
  Value* right = node.input(1);
  Value* weight = node.input(2);
  if (!is_bilinear(left, weight, right)) return kKeep;
  Value* product = bilinear_product(at, left, weight, right);
  const Argument& bias = node.argument("bias");
  if (bias.is_none()) return replace_by(product);
  return replace_by(at.call("aten.add.Tensor", {product, bias}));
}

// _trilinear multiplies three tensors after unsqueezing each at some dimensions, and sums over
// some: [N, (O), I, (J)] x [(N), O, I, J] x [N, (O), (I), J], summed over I and J, is how bilinear
// calls it.
Replacement trilinear(RewriteContext& at, const Node& node) {
  using Dimensions = std::vector<std::int64_t>;
  const bool of_bilinear = node.argument("expand1").integers() == Dimensions{1, 3} &&
                           node.argument("expand2").integers() == Dimensions{0} &&
                           node.argument("expand3").integers() == Dimensions{1, 2} &&
                           node.argument("sumdim").integers() == Dimensions{2, 3};
  Value* left = node.input(0);
  Value* weight = node.input(1);
  Value* right = node.input(2);
  if (!of_bilinear || left->rank() != 2 || !is_bilinear(left, weight, right)) return kKeep;
  return replace_by(bilinear_product(at, left, weight, right));
}

constexpr RewriteRow kRows[] = {
    {"aten.bilinear.default", bilinear},
    {"aten._trilinear.default", trilinear},
};

}  // namespace

std::span<const RewriteRow> bilinear_rewrites() { return kRows; }

}  // namespace unfuse::passes
