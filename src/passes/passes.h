// The target-independent passes. Each takes a valid graph and leaves a valid one.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "unfuse/report.h"

namespace unfuse::passes {

/// Removes every mutation: each is computed by its pure op and written through the chain of views
/// into a new base; later uses of any alias replay their chain. Mutations of inputs become outputs
/// (kBufferMutation, kUserInputMutation). Throws Error (kUnsupported) naming a mutation through
/// expand, as_strided or an opaque op.
void functionalize(Graph& graph);

/// as_strided and as_strided_scatter on what the graph computes become ops on elements. Called
/// while recorded strides are those of eager: right after functionalize.
void resolve_storage_windows(Graph& graph);
/// Whether that pass rewrites this op.
bool is_storage_window(std::string_view op);

/// Makes one dialect of the three that arrive (export, AOTAutograd, make_fx): docs/dialect.md.
/// Takes a graph without mutations. What it leaves alone is valid all the same.
void normalize(Graph& graph);

/// Evaluates what depends on constants alone (InputKind::kConstant with data, and nothing), as long
/// as the result is small; 0-d tensors used as scalars become scalar arguments where an overload
/// takes one.
void fold_constants(Graph& graph);

/// Identities, pairs of transposes, redundant converts, common subexpressions.
void simplify(Graph& graph);

/// Nodes without side effects whose results nobody uses. Inputs stay.
void eliminate_dead_code(Graph& graph);

/// Makes every output a tensor of its own, as eager gives it where the model copies: a clone in
/// front of one that is a view of an input, or of what another output shows. Without it a caller
/// who writes to an output, or the copying back of a mutated input, would change others.
void own_outputs(Graph& graph);

}  // namespace unfuse::passes
