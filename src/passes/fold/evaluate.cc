// Only what IEEE arithmetic fixes, and torch computes so, is folded: sums, products, quotients,
// comparisons, selections and moves. exp and its like differ in the last bit from one library to
// the next; torch's sqrt is off by one there, too.
#include "passes/fold/evaluate.h"

#include <string_view>
#include <unordered_map>

#include "passes/fold/call.h"

namespace unfuse::passes {
namespace {

const std::unordered_map<std::string_view, Evaluate>& table() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Evaluate> by_op;
    for (const auto& rows : {pointwise_evaluations(), creation_and_move_evaluations()}) {
      for (const EvaluateRow& row : rows) by_op.emplace(row.op, row.evaluate);
    }
    return by_op;
  }();
  return table;
}

}  // namespace

std::optional<Constant> evaluate(const Node& node, const ConstantOf& constant_of) {
  const auto found = table().find(node.op().name);
  if (found == table().end() || node.results().size() != 1) return std::nullopt;
  const Value* result = node.result();
  if (!result->is_tensor() || !is_foldable(result->dtype())) return std::nullopt;
  if (result->tensor().device != "cpu") return std::nullopt;
  return found->second({node, constant_of});
}

}  // namespace unfuse::passes
