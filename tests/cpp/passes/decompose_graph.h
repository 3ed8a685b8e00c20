// Graphs with one fused op, for the tests of its decomposition.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ops/catalogue.h"
#include "passes/decompose/decompose.h"
#include "passes/passes.h"

namespace unfuse::passes {

class FusedGraph {
 public:
  Graph graph;
  Report report;
  CompileOptions options;

  Value* input(const std::string& name, std::vector<Dim> sizes, DType dtype = DType::kFloat32) {
    return graph.add_input(name, TensorType::contiguous(dtype, std::move(sizes)), {});
  }

  /// Adds a node whose op has no result-type rule, its results of these types.
  Node* fused(const char* name, Arguments positional, std::vector<Type> types,
              const std::vector<KeywordArgument>& keywords = {}) {
    const Op& op = ops::get(name);
    Node* node = graph.create_node(op, complete_arguments(op, std::move(positional), keywords),
                                   std::move(types));
    node->set_origin({"encoder.layers.0", "model.py:7"});
    return node;
  }

  void output(Value* value) { graph.add_output({value, OutputKind::kUser, ""}); }

  void decompose() {
    passes::decompose(graph, options, report);
    eliminate_dead_code(graph);
    verify(graph, "decompose");
  }

  int count(std::string_view op) const {
    int found = 0;
    for (const Node* node : graph.nodes()) found += node->is(op) ? 1 : 0;
    return found;
  }

  /// The only node of this op; null when there is none or more than one.
  Node* only(std::string_view op) const {
    if (count(op) != 1) return nullptr;
    for (Node* node : graph.nodes()) {
      if (node->is(op)) return node;
    }
    return nullptr;
  }
};

inline Type tensor_type(std::vector<Dim> sizes, DType dtype = DType::kFloat32) {
  return TensorType::contiguous(dtype, std::move(sizes));
}

}  // namespace unfuse::passes
