// Simplification: what a graph in the dialect says twice, or for nothing. Each rewrite makes the
// graph smaller or moves a reshape towards the next one, so that the loop ends; the bound is there
// to say so.
#include "passes/passes.h"
#include "passes/simplify/rewrites.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

RewriteTable make_table() {
  RewriteTable table;
  table.add(view_identities());
  table.add(arithmetic_identities());
  return table;
}

}  // namespace

void simplify(Graph& graph) {
  static const RewriteTable table = make_table();
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = rewrite_nodes(graph, table);
    changed |= merge_common_subexpressions(graph);
    eliminate_dead_code(graph);
    if (!changed) return;
  }
  throw Error(ErrorKind::kInternal, "simplify does not come to an end");
}

}  // namespace unfuse::passes
