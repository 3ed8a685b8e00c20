// From the canonical dialect (docs/dialect.md) down to core ATen.
#pragma once

#include "ir/graph.h"

namespace unfuse::passes {

/// Replaces every op that is not core ATen by ones that are, as far as there is a form for it here.
/// Takes a graph in the canonical dialect, and leaves one that eager PyTorch can run node by node:
/// a view is one only of what lies in memory as it needs. No pass of the pipeline may follow.
void to_core(Graph& graph);

}  // namespace unfuse::passes
