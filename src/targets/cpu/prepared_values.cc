#include "targets/cpu/prepared_values.h"

#include <algorithm>

namespace unfuse::cpu {
namespace {

bool is_symbolic(const Dim& dim) { return !dim.is_constant(); }

bool is_symbolic(const Argument& argument) {
  if (const auto* dim = argument.get_if<Dim>()) return is_symbolic(*dim);
  const auto* dims = argument.get_if<Argument::Ints>();
  return dims != nullptr &&
         std::any_of(dims->begin(), dims->end(), [](const Dim& dim) { return is_symbolic(dim); });
}

bool is_symbolic(const Value* value) {
  const auto& sizes = value->sizes();
  return std::any_of(sizes.begin(), sizes.end(), [](const Dim& dim) { return is_symbolic(dim); });
}

bool can_prepare(const Node& node, const std::unordered_set<const Value*>& prepared) {
  if (node.op().traits.random) return false;
  // Expanding ahead would only make the tensor larger; at run time it costs nothing.
  if (node.is("aten.expand.default")) return false;
  for (const Argument& argument : node.arguments()) {
    if (is_symbolic(argument)) return false;
  }
  for (const Value* result : node.results()) {
    if (!result->is_tensor() || is_symbolic(result)) return false;
  }
  const std::vector<Value*> operands = node.operands();
  return std::all_of(operands.begin(), operands.end(),
                     [&](const Value* value) { return prepared.contains(value); });
}

}  // namespace

bool is_constant_input(const GraphInput& input) {
  return input.kind == InputKind::kParameter || input.kind == InputKind::kBuffer ||
         input.kind == InputKind::kConstant;
}

std::unordered_set<const Value*> prepared_values(const Graph& graph) {
  std::unordered_set<const Value*> prepared;
  for (const GraphInput& input : graph.inputs()) {
    if (is_constant_input(input)) prepared.insert(input.value);
  }
  for (const Node* node : graph.nodes()) {
    if (!can_prepare(*node, prepared)) continue;
    prepared.insert(node->results().begin(), node->results().end());
  }
  return prepared;
}

}  // namespace unfuse::cpu
