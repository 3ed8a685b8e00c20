#include "passes/pipeline.h"

#include "ir/verify.h"
#include "passes/passes.h"
#include "passes/recognize_attention.h"

namespace unfuse::passes {
// Functionalize first: only then is a view a function like any other, and may be rewritten without
// a thought for what is written through it. What reads strides comes next, since no other pass
// keeps them. Decompositions are written as PyTorch code is, so what they build is brought into the
// dialect too. Attention that AOTAutograd spelled out is recognised before a causal mask is folded
// into numbers, and again at the end, where it has its simplest form.
void run_pipeline(Graph& graph, const CompileOptions& options, Report& report) {
  verify_where_wanted(graph, "import");
  functionalize(graph);
  verify_where_wanted(graph, "functionalize");
  resolve_storage_windows(graph);
  verify_where_wanted(graph, "resolve_storage_windows");
  normalize(graph);
  verify_where_wanted(graph, "normalize");
  decompose(graph, options, report);
  verify_where_wanted(graph, "decompose");
  normalize(graph);
  verify_where_wanted(graph, "normalize");
  simplify(graph);
  verify_where_wanted(graph, "simplify");
  recognize_attention(graph, AttentionSpelling::kSafeSoftmax, options);
  verify_where_wanted(graph, "recognize_attention");
  fold_constants(graph);
  verify_where_wanted(graph, "fold_constants");
  simplify(graph);
  verify_where_wanted(graph, "simplify");
  recognize_attention(graph, AttentionSpelling::kSafeSoftmax, options);
  verify_where_wanted(graph, "recognize_attention");
  simplify(graph);
  verify_where_wanted(graph, "simplify");
  own_outputs(graph);
  verify_where_wanted(graph, "own_outputs");
}

}  // namespace unfuse::passes
