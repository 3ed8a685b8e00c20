#include "ops/flops.h"

#include <string_view>

namespace unfuse::ops {
namespace {

using Rule = Dim (*)(const Node& node);

struct Row {
  std::string_view op;
  Rule flops;
};

// result[..., n] = sum over k of left[..., k] * right[k, n]
Dim product_of(const Node& node, int left) {
  return Dim(2) * node.result()->tensor().numel() * node.input(left)->size(-1);
}
Dim product_of_first(const Node& node) { return product_of(node, 0); }
Dim product_of_second(const Node& node) { return product_of(node, 1); }

// An element of the result is a sum over the filter of one output channel: weight[out, in, ...].
Dim convolution(const Node& node) {
  const TensorType& weight = node.input(1)->tensor();
  const std::vector<Dim> filter(weight.sizes.begin() + 1, weight.sizes.end());
  return Dim(2) * node.result()->tensor().numel() * product(filter);
}

// Transposed, an element of the input is spread over a filter instead.
Dim general_convolution(const Node& node) {
  if (!node.argument("transposed").boolean()) return convolution(node);
  const TensorType& weight = node.input(1)->tensor();
  const std::vector<Dim> filter(weight.sizes.begin() + 1, weight.sizes.end());
  return Dim(2) * node.input(0)->tensor().numel() * product(filter);
}

// query[..., H, L, D] times every key, and the weights [..., H, L, S] times every value.
Dim attention(const Node& node) {
  const std::vector<Dim>& sizes = node.result()->sizes();
  const Dim rows = product(std::vector<Dim>(sizes.begin(), sizes.end() - 1));
  return Dim(2) * node.input(1)->size(-2) * rows * (node.input(0)->size(-1) + sizes.back());
}

constexpr Row kRows[] = {
    {"aten.linear.default", product_of_first},
    {"aten.matmul.default", product_of_first},
    {"aten.mm.default", product_of_first},
    {"aten.bmm.default", product_of_first},
    {"aten.addmm.default", product_of_second},
    {"aten.baddbmm.default", product_of_second},
    {"aten.conv1d.default", convolution},
    {"aten.conv2d.default", convolution},
    {"aten.conv2d.padding", convolution},
    {"aten.conv3d.default", convolution},
    {"aten.convolution.default", general_convolution},
    {"aten.scaled_dot_product_attention.default", attention},
    {"unfuse.attention", attention},
    {"unfuse.linear", product_of_first},
};

}  // namespace

Dim flops(const Node& node) {
  for (const Row& row : kRows) {
    if (node.op().name == row.op) return row.flops(node);
  }
  return 0;
}

Dim flops(const Graph& graph) {
  Dim total = 0;
  for (const Node* node : graph.nodes()) total += flops(*node);
  return total;
}

}  // namespace unfuse::ops
