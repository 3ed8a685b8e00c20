// Linear layers and attention of bfloat16 multiply in bfloat16, on machines that do so faster than
// in float32:
//
//   linear(%x, %w, %b)      ->      unfuse.linear(%x, %w, %b, products="bfloat16")
//   attention(%q, %k, %v)   ->      attention(%q, %k, %v, products="bfloat16")
//
// Products of bfloat16 are exact in float32, and that is what they are summed in. So all that is
// lost against widening is what the operands have been widened by: they are rounded, as eager
// rounds each value of a bfloat16 model. Other ops, and what lies between ops, are float32 in
// either case (see widen).
//
// bfloat16 has fewer digits than float16, and what multiplies float16 itself (AVX512-FP16) sums in
// it too. But a float16 is the sum of two bfloat16. Tiles multiply so fast that three products of
// such parts take less time than one in float32: so do linear layers of float16
// (products="split"). Attention does not: it is float32.
#include <unordered_set>
#include <vector>

#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/machine_features.h"
#include "targets/cpu/prepared_values.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

bool is_wanted(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kFloat32:
      return false;
    case Arithmetic::kFastest:
      return has_fast_bfloat16_products() && has_products(Products::kBFloat16);
    case Arithmetic::kBFloat16:
      if (has_products(Products::kBFloat16)) return true;
      throw Error(ErrorKind::kUnsupported, "this machine does not multiply bfloat16", "arithmetic",
                  "float32 computes the same model with fewer roundings");
  }
  return false;
}

/// Of the node's first operands, so many.
bool are(DType dtype, const Node& node, int count) {
  for (int i = 0; i < count; ++i) {
    if (node.input(i)->dtype() != dtype) return false;
  }
  return true;
}

struct Candidates {
  std::vector<Node*> layers;
  std::vector<Node*> attentions;
};

Candidates find_candidates(Graph& graph, DType dtype) {
  Candidates found;
  const std::unordered_set<const Value*> prepared = prepared_values(graph);
  for (Node* node : graph.nodes()) {
    if (node->is("aten.linear.default") && are(dtype, *node, 2) && node->input(1)->rank() == 2 &&
        prepared.contains(node->input(1)) && !prepared.contains(node->result())) {
      found.layers.push_back(node);
    }
    if (node->is("unfuse.attention") && are(dtype, *node, 3)) found.attentions.push_back(node);
  }
  return found;
}

void multiply_layers(Graph& graph, const std::vector<Node*>& layers, const char* products) {
  for (Node* layer : layers) {
    const Arguments& given = layer->arguments();
    replace_by_node(graph, layer, "unfuse.linear",
                    {given[0], given[1], given[2], "none", Argument(), products}, layer->origin());
  }
}

}  // namespace

void multiply_bfloat16(Graph& graph, Arithmetic arithmetic) {
  const Candidates narrow = find_candidates(graph, DType::kBFloat16);
  if ((!narrow.layers.empty() || !narrow.attentions.empty()) && is_wanted(arithmetic)) {
    multiply_layers(graph, narrow.layers, "bfloat16");
    for (Node* attention : narrow.attentions) {
      graph.set_argument(attention, attention->op().schema.index_of("products"), "bfloat16");
    }
  }
  if (arithmetic == Arithmetic::kFastest && has_products(Products::kSplitTiles)) {
    multiply_layers(graph, find_candidates(graph, DType::kFloat16).layers, "split");
  }
}

}  // namespace unfuse::cpu
