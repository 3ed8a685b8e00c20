// Attention spelled out in ops of the canonical dialect: for results that unfuse.attention does not
// give, and for writing it back.
#pragma once

#include "passes/decompose/decompose.h"

namespace unfuse::passes {

/// [..., G, S, D] -> [..., H, S, D], each head repeated H / G times in place. Rank 2 stays.
Value* repeat_heads(Builder& builder, Value* value, const Dim& heads);

/// scale * query @ key^T: [..., L, D] and [..., S, D] give [..., L, S].
Value* scaled_scores(Builder& builder, Value* query, Value* key, const Argument& scale);

/// -inf where `attended` is false.
Value* keep_attended(Builder& builder, Value* scores, Value* attended);

/// True where row l may attend key s of causal attention, s <= l; [L, S].
Value* causal_mask(Builder& builder, const Dim& queries, const Dim& keys);

/// softmax over the last dimension; rows of -inf give zeros or NaN.
Value* softmax_of_scores(Builder& builder, Value* scores, bool zero_fully_masked);

/// `scale`, or 1 / sqrt(D) of a query with a known head size D for None.
/// Throws Error (kUnsupported) when D is symbolic.
double scale_or_default(const Node& node, const Argument& scale, const Value* query);

}  // namespace unfuse::passes
