// Dead code: nodes whose results nobody uses, walked from the end so that one walk is enough.
// Random ops go too, since what they draw is nobody's. What mutates stays, and so does what has no
// result at all: an op that is called for no value is called for an effect.
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

bool is_dead(const Node& node) {
  if (node.results().empty() || node.op().schema.mutates()) return false;
  for (const Value* result : node.results()) {
    if (result->use_count() > 0) return false;
  }
  return true;
}

}  // namespace

void eliminate_dead_code(Graph& graph) {
  Node* node = graph.last_node();
  while (node != nullptr) {
    Node* const previous = node->previous();
    if (is_dead(*node)) graph.erase(node);
    node = previous;
  }
}

}  // namespace unfuse::passes
