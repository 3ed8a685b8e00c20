#include "passes/pipeline.h"

#include <cstdlib>

#include "ir/verify.h"
#include "passes/passes.h"
#include "passes/recognize_attention.h"

namespace unfuse::passes {
namespace {

bool verifies() {
#ifdef NDEBUG
  static const bool kWanted = std::getenv("UNFUSE_VERIFY") != nullptr;
  return kWanted;
#else
  return true;
#endif
}

void check(const Graph& graph, const char* after_pass) {
  if (verifies()) verify(graph, after_pass);
}

}  // namespace

// Functionalize first: only then is a view a function like any other, and may be rewritten without
// a thought for what is written through it. Decompositions are written as PyTorch code is, so what
// they build is brought into the dialect too. Attention that AOTAutograd spelled out is recognised
// before a causal mask is folded into numbers, and again at the end, where it has its simplest
// form.
void run_pipeline(Graph& graph, const CompileOptions& options, Report& report) {
  check(graph, "import");
  functionalize(graph);
  check(graph, "functionalize");
  normalize(graph);
  check(graph, "normalize");
  decompose(graph, options, report);
  check(graph, "decompose");
  normalize(graph);
  check(graph, "normalize");
  simplify(graph);
  check(graph, "simplify");
  recognize_attention(graph, AttentionSpelling::kSafeSoftmax, options);
  check(graph, "recognize_attention");
  fold_constants(graph);
  check(graph, "fold_constants");
  simplify(graph);
  check(graph, "simplify");
  recognize_attention(graph, AttentionSpelling::kSafeSoftmax, options);
  check(graph, "recognize_attention");
  simplify(graph);
  check(graph, "simplify");
  own_outputs(graph);
  check(graph, "own_outputs");
}

}  // namespace unfuse::passes
