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
// float16 stays out: bfloat16 has fewer digits, and what multiplies float16 faster (AVX512-FP16)
// sums in it too.
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
bool are_bfloat16(const Node& node, int count) {
  for (int i = 0; i < count; ++i) {
    if (node.input(i)->dtype() != DType::kBFloat16) return false;
  }
  return true;
}

}  // namespace

void multiply_bfloat16(Graph& graph, Arithmetic arithmetic) {
  std::vector<Node*> layers;
  std::vector<Node*> attentions;
  const std::unordered_set<const Value*> prepared = prepared_values(graph);
  for (Node* node : graph.nodes()) {
    if (node->is("aten.linear.default") && are_bfloat16(*node, 2) && node->input(1)->rank() == 2 &&
        prepared.contains(node->input(1)) && !prepared.contains(node->result())) {
      layers.push_back(node);
    }
    if (node->is("unfuse.attention") && are_bfloat16(*node, 3)) attentions.push_back(node);
  }
  if ((layers.empty() && attentions.empty()) || !is_wanted(arithmetic)) return;
  for (Node* layer : layers) {
    const Arguments& given = layer->arguments();
    replace_by_node(graph, layer, "unfuse.linear",
                    {given[0], given[1], given[2], "none", Argument(), "bfloat16"},
                    layer->origin());
  }
  for (Node* attention : attentions) {
    graph.set_argument(attention, attention->op().schema.index_of("products"), "bfloat16");
  }
}

}  // namespace unfuse::cpu
