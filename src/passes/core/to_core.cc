// The last step on the way to other tools: ops of the dialect that are not core ATen become ones
// that are. A row builds core ops and other ops of the dialect alike, since what it builds is
// visited in turn.
#include "passes/core/to_core.h"

#include "ops/catalogue.h"
#include "passes/core/rewrites.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

RewriteTable make_table() {
  RewriteTable table;
  for (const auto& rows :
       {core_creation(), core_functions(), core_norms(), core_numbers(), core_pointwise(),
        core_pooling(), core_products(), core_reductions(), core_softmax(), core_views()}) {
    table.add(rows);
  }
  return table;
}

}  // namespace

Value* scalar(Builder& builder, const Argument& number, DType dtype) {
  return full(builder, {}, number, dtype);
}

DType computed_in(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

Value* first_result(Builder& builder, const Node& like, std::string_view op, Arguments positional,
                    std::vector<Type> types) {
  const Op& called = ops::get(op);
  Arguments arguments = complete_arguments(called, std::move(positional), {});
  conform_arguments(called, arguments);
  Node* made = builder.graph().create_node(called, std::move(arguments), std::move(types),
                                           builder.insertion_point());
  made->set_origin(like.origin());
  return made->result();
}

void to_core(Graph& graph) {
  static const RewriteTable table = make_table();
  rewrite_nodes(graph, table);
  eliminate_dead_code(graph);
}

}  // namespace unfuse::passes
