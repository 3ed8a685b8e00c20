// From the canonical dialect (docs/dialect.md) down to core ATen.
#pragma once

#include "passes/rewrite.h"

namespace unfuse::passes {

/// Forms of ops that are not core, by op; what they build may have a form in turn.
const RewriteTable& core_forms();

/// Replaces every op of real numbers that is not core ATen by ones that are, as far as there is a
/// form for it here.
/// Takes a graph in the canonical dialect, and leaves one that eager PyTorch can run node by node:
/// a view is one only of what lies in memory as it needs. No pass of the pipeline may follow.
/// With `wants`, only nodes that it accepts are replaced, those that were built for others
/// included.
void to_core(Graph& graph, const NodePredicate& wants = nullptr);

}  // namespace unfuse::passes
