// Normalization: one dialect of the three that arrive. Every rewrite is local and only ever leads
// towards the dialect, so that one walk, which also visits what rewrites build, reaches it; linear
// and matmul look at what they read, which stands before them and is in the dialect already. The
// graph holds no mutation here (functionalize has run), so a view is a function like any other, and
// a copy is an identity.
#include "passes/normalize/rewrites.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

RewriteTable make_table() {
  RewriteTable table;
  for (const auto& rows :
       {alias_name_rewrites(), assertion_rewrites(), view_rewrites(), shape_rewrites(),
        conversion_rewrites(), creation_rewrites(), number_rewrites(), pointwise_rewrites(),
        reduction_rewrites(), softmax_rewrites(), norm_rewrites(), pooling_rewrites(),
        resampling_rewrites(), convolution_rewrites(), einsum_rewrites(), bilinear_rewrites(),
        linear_rewrites(), matmul_rewrites()}) {
    table.add(rows);
  }
  return table;
}

}  // namespace

const RewriteTable& normalizations() {
  static const RewriteTable table = make_table();
  return table;
}

void normalize(Graph& graph) {
  rewrite_nodes(graph, normalizations());
  eliminate_dead_code(graph);
}

}  // namespace unfuse::passes
