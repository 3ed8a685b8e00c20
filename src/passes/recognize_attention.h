// Attention that a graph spells out.
#pragma once

#include "ir/graph.h"
#include "unfuse/program.h"

namespace unfuse::passes {

/// Which spellings are looked for.
enum class AttentionSpelling {
  kSafeSoftmax,  ///< with _safe_softmax: what AOTAutograd makes of SDPA where no fused kernel
                 ///< applies
  kAnySoftmax,   ///< with softmax as well: what models write by hand
};

/// matmul(softmax(scale * matmul(query, key^T) + mask), value) becomes unfuse.attention, in
/// float32, float16 and bfloat16. The scale may stand at the query, the key or the scores; masks,
/// one or several, may be added, or filled in with -inf or with a number that stands for it. Scores
/// and weights that something else reads stay as they are. Takes the canonical dialect. A row whose
/// keys are all masked gives what its softmax gives: of -inf zeros for _safe_softmax and NaN for
/// softmax, unless the options want zeros; of numbers the mean of all values.
void recognize_attention(Graph& graph, AttentionSpelling spelling, const CompileOptions& options);

}  // namespace unfuse::passes
