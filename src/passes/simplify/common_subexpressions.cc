// Common subexpressions: a node that computes what an earlier one does is replaced by it. Two nodes
// are the same when their op and arguments are, as text; names of values are unique. Random ops,
// ops that are not in the catalogue and the clones in front of outputs stay apart.
#include <string>
#include <unordered_map>

#include "passes/simplify/rewrites.h"

namespace unfuse::passes {
namespace {

bool can_be_merged(const Node& node) {
  const Op& op = node.op();
  return !op.opaque() && !op.traits.random && !op.schema.mutates() && !node.results().empty() &&
         !node.is("aten.clone.default");
}

std::string text_of(const Node& node) {
  std::string text = node.op().name;
  for (const Argument& argument : node.arguments()) {
    text += '|';
    text += argument.to_string();
  }
  return text;
}

// Outputs stay tensors of their own: nothing is won by a clone in place of a computation.
bool both_are_outputs(const Node& first, const Node& second) {
  for (std::size_t i = 0; i < first.results().size(); ++i) {
    if (first.results()[i]->is_output() && second.results()[i]->is_output()) return true;
  }
  return false;
}

}  // namespace

bool merge_common_subexpressions(Graph& graph) {
  std::unordered_map<std::string, Node*> seen;
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!can_be_merged(*node)) continue;
    const auto [known, first] = seen.emplace(text_of(*node), node);
    if (first || both_are_outputs(*known->second, *node)) continue;
    for (std::size_t i = 0; i < node->results().size(); ++i) {
      replace_by_equal(graph, node->results()[i], known->second->results()[i], node);
    }
    graph.erase(node);
    changed = true;
  }
  return changed;
}

}  // namespace unfuse::passes
