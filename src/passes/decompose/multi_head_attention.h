// Fused multi-head attention on the CPU, as aten._native_multi_head_attention and
// aten._transformer_encoder_layer_fwd do it (ATen/native/transformers/attention.cpp).
#pragma once

#include <optional>

#include "passes/decompose/decompose.h"

namespace unfuse::passes {

struct MultiHeadAttention {
  Value* query = nullptr;        ///< [B, L, E]
  Value* key = nullptr;          ///< [B, L, E]
  Value* value = nullptr;        ///< [B, L, E]
  std::int64_t embed_dim = 0;    ///< E
  std::int64_t heads = 0;        ///< H, divides E
  Value* qkv_weight = nullptr;   ///< [3 E, E]: the rows of q, k and v
  Value* qkv_bias = nullptr;     ///< [3 E]
  Value* proj_weight = nullptr;  ///< [F, E]
  Value* proj_bias = nullptr;    ///< [F]
  /// Nonzero or true is masked. [L, L] of type 0, [B, L] of type 1, [B, H, L, L] of any type.
  Value* mask = nullptr;
  std::optional<std::int64_t> mask_type;
};

/// output [B, L, F]; weights [B, H, L, L], null unless asked for, and when the input is empty.
/// A row whose keys are all masked gives NaN, unless the options want zeros.
struct MultiHeadResult {
  Value* output = nullptr;
  Value* weights = nullptr;
};

/// Throws Error (kInvalidArgument) for what the op refuses.
MultiHeadResult multi_head_attention(const DecomposeContext& context,
                                     const MultiHeadAttention& attention, bool need_weights);

/// The schema's int? argument.
std::optional<std::int64_t> optional_integer(const Argument& argument);

/// Whether the exported sizes say that there are no elements.
bool is_empty(const Value* value);

}  // namespace unfuse::passes
