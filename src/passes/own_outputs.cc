// What an output shows may lie in an input's memory, since a copy is an identity to normalize, and
// a view is a view where torch runs it. Outputs that eager does give as views of inputs are copied
// as well: whoever runs the graph need not ask which is which, and a target has to write its
// outputs somewhere in any case.
#include <unordered_set>

#include "ops/catalogue.h"
#include "passes/passes.h"
#include "passes/views.h"

namespace unfuse::passes {
namespace {

// The input itself, as eager returns it: what the model copies has its clone from normalize
// already. Or a mutated input that is left as it was.
bool is_handed_through(const Graph& graph, const GraphOutput& output) {
  const GraphInput* input = graph.input_of(output.value.value());
  if (input == nullptr) return false;
  return output.kind == OutputKind::kUser || input->target == output.target;
}

Value* copied(Graph& graph, Value* value) {
  Node* clone =
      graph.create_node(ops::get("aten.clone.default"), {value, Argument()}, {value->type()});
  if (value->producer() != nullptr) clone->set_origin(value->producer()->origin());
  return clone->result();
}

}  // namespace

void own_outputs(Graph& graph) {
  std::unordered_set<const Value*> handed_out;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    if (!output.value.is_value() || !output.value.value()->is_tensor()) continue;
    if (is_handed_through(graph, output)) continue;
    Value* value = output.value.value();
    const Value* base = viewed_base(value);
    const bool is_new = base->producer() != nullptr && handed_out.insert(base).second;
    if (!is_new) graph.set_output(i, copied(graph, value));
  }
}

}  // namespace unfuse::passes
