// What follows a linear layer is computed while its tiles are in registers or in the first cache:
//
//   linear -> relu | gelu | silu -> add          becomes         unfuse.linear
//
// each part but the first being optional. An activation by itself would read and write the whole
// tensor once more, an add would read two and write one. The order is the kernel's: the residual is
// added last. Whoever else wants to see what lies between finds it not fused away: a value that has
// other readers, or that is an output, ends the chain. The weight depends on parameters alone,
// since only packed layers have epilogues; a layer that is computed ahead stays what it is.
//
// The sum is the same number as before: the product is rounded to float32 in either case, and the
// residual has the layer's own sizes (one that is broadcast is left to the pointwise kernel).
#include <unordered_set>
#include <vector>

#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/prepared_values.h"

namespace unfuse::cpu {
namespace {

struct Chain {
  Node* linear = nullptr;
  Node* activation = nullptr;
  Node* add = nullptr;
  const char* epilogue = "none";
  Value* residual = nullptr;

  Node* last() const {
    if (add != nullptr) return add;
    return activation != nullptr ? activation : linear;
  }
};

const char* epilogue_of(const Node& node) {
  if (node.is("aten.relu.default")) return "relu";
  if (node.is("aten.silu.default")) return "silu";
  if (!node.is("aten.gelu.default")) return nullptr;
  return node.argument("approximate").string() == "tanh" ? "gelu_tanh" : "gelu";
}

class EpilogueFusion {
 public:
  explicit EpilogueFusion(Graph& graph) : graph_(graph), prepared_(prepared_values(graph)) {}

  void apply() {
    std::vector<Node*> layers;
    for (Node* node : graph_.nodes()) {
      if (takes_epilogues(*node)) layers.push_back(node);
    }
    for (Node* layer : layers) {
      const Chain chain = match(layer);
      if (chain.last() != layer) rewrite(chain);
    }
  }

 private:
  bool takes_epilogues(const Node& node) const {
    return is_linear(node) && is_float32(node.result()) && is_float32(node.input(0)) &&
           node.input(1)->rank() == 2 && prepared_.contains(node.input(1)) &&
           !prepared_.contains(node.result());
  }

  static Chain match(Node* linear) {
    Chain chain;
    chain.linear = linear;
    Node* reader = only_reader(linear->result());
    if (reader == nullptr) return chain;
    if (const char* epilogue = epilogue_of(*reader)) {
      chain.activation = reader;
      chain.epilogue = epilogue;
      reader = only_reader(reader->result());
    }
    if (reader == nullptr) return chain;
    chain.residual = added_to(chain.last()->result(), *reader);
    if (chain.residual != nullptr) chain.add = reader;
    return chain;
  }

  /// The fused layer stands where the chain ends: there the residual is known.
  void rewrite(const Chain& chain) {
    const Arguments& layer = chain.linear->arguments();
    const bool is_plain = chain.linear->is("aten.linear.default");
    const Argument products = is_plain ? "float32" : chain.linear->argument("products");
    replace_by_node(graph_, chain.last(), "unfuse.linear",
                    {layer[0], layer[1], layer[2], chain.epilogue, chain.residual, products},
                    chain.linear->origin());
    if (chain.add != nullptr && chain.activation != nullptr) graph_.erase(chain.activation);
    graph_.erase(chain.linear);
  }

  Graph& graph_;
  const std::unordered_set<const Value*> prepared_;
};

}  // namespace

void fuse_linear_epilogues(Graph& graph) { EpilogueFusion(graph).apply(); }

}  // namespace unfuse::cpu
