// What every form of scaled dot-product attention means, as one unfuse.attention.
#pragma once

#include <vector>

#include "passes/decompose/decompose.h"

namespace unfuse::passes {

/// softmax(scale * query @ key^T + mask) @ value, heads and batch dimensions broadcast.
struct DotProductAttention {
  Value* query = nullptr;      ///< [..., H, L, D]
  Value* key = nullptr;        ///< [..., Hk, S, D]
  Value* value = nullptr;      ///< [..., Hv, S, E]
  Value* mask = nullptr;       ///< bool (true = attend) or added; broadcastable to [..., H, L, S]
  bool is_causal = false;      ///< aligned top left; together with a mask
  Argument scale;              ///< None is 1 / sqrt(D)
  bool grouped_heads = false;  ///< Hk and Hv divide H; else each is H or 1
  bool zero_fully_masked = true;  ///< what a row whose keys are all masked gives: zeros, or NaN
};

/// What all such ops call the same: query, key, value, is_causal and scale. No mask yet.
DotProductAttention attention_of(const Node& node);

/// `sizes` are those of the result, [..., H, L, E].
/// Throws Error (kInvalidArgument) when shapes or dtypes do not fit.
Value* dot_product_attention(const DecomposeContext& context, const DotProductAttention& attention,
                             const std::vector<Dim>& sizes);

/// The masked scores, [..., H, L, S], for ops that return something of them; in float32, or in
/// float64 where the query is. `sizes` are those of the attention's result.
Value* attention_scores(const DecomposeContext& context, const DotProductAttention& attention,
                        const std::vector<Dim>& sizes);

/// Notes why, and returns true, when the attention drops elements at random: it stays as it is.
bool has_dropout(const DecomposeContext& context, const Node& node);

}  // namespace unfuse::passes
