// The last step on the way to other tools: ops of the dialect that are not core ATen become ones
// that are. A row builds core ops and other ops of the dialect alike, since what it builds is
// visited in turn.
#include "passes/core/to_core.h"

#include <algorithm>

#include "ops/catalogue.h"
#include "passes/core/rewrites.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

RewriteTable make_table() {
  RewriteTable table;
  for (const auto& rows : {core_creation(), core_functions(), core_indexing(), core_norms(),
                           core_numbers(), core_pointwise(), core_pooling(), core_products(),
                           core_reductions(), core_resampling(), core_softmax(), core_views()}) {
    table.add(rows);
  }
  return table;
}

bool is_complex_tensor(const Value* value) {
  return value->is_tensor() && is_complex(value->dtype());
}

/// The forms compare, order and round: they are those of real numbers.
bool has_complex_numbers(const Node& node) {
  return std::ranges::any_of(node.operands(), is_complex_tensor) ||
         std::ranges::any_of(node.results(), is_complex_tensor);
}

}  // namespace

Value* scalar(Builder& builder, const Argument& number, DType dtype) {
  return full(builder, {}, number, dtype);
}

DType computed_in(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

Node* make_node(Builder& builder, const Node& like, std::string_view op, Arguments positional,
                std::vector<Type> types) {
  const Op& called = ops::get(op);
  Arguments arguments = complete_arguments(called, std::move(positional), {});
  conform_arguments(called, arguments);
  Node* made = builder.graph().create_node(called, std::move(arguments), std::move(types),
                                           builder.insertion_point());
  made->set_origin(like.origin());
  // As torch calls them: what loads a program gives the op's own name to the node.
  for (Value* result : made->results()) builder.graph().rename(result, "getitem");
  return made;
}

const RewriteTable& core_forms() {
  static const RewriteTable table = make_table();
  return table;
}

void to_core(Graph& graph, const NodePredicate& wants) {
  rewrite_nodes(graph, core_forms(), [&wants](const Node& node) {
    return !has_complex_numbers(node) && (!wants || wants(node));
  });
  eliminate_dead_code(graph);
}

}  // namespace unfuse::passes
