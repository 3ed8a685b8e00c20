// What fused multi-head attention refuses; exported graphs may hold it, since fake tensors do not
// look.
#pragma once

#include "passes/decompose/multi_head_attention.h"

namespace unfuse::passes {

/// Mask types of the fused ops.
inline constexpr std::int64_t kSourceMask = 0;   ///< [L, L]
inline constexpr std::int64_t kPaddingMask = 1;  ///< [B, L]
inline constexpr std::int64_t kDefaultMask = 2;  ///< [B, H, L, L]

/// Shapes and dtypes of everything but the mask.
void check_inputs(const DecomposeContext& context, const MultiHeadAttention& attention);

/// A mask of rank 2 goes by its type; any other needs the full shape whatever its type. None
/// broadcasts.
void check_mask(const DecomposeContext& context, const MultiHeadAttention& attention);

}  // namespace unfuse::passes
