// Scaled dot-product attention that never holds the scores: memory O(L), not O(L x S).
#pragma once

#include <cstdint>
#include <optional>

#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/kernels/products.h"

namespace unfuse::cpu {

/// out[..., h, l, :] = sum over s of softmax_s(scale * q[..., h, l, :] . k[..., g, s, :] + mask)
///                     * v[..., g, s, :]        with g = h / (H / Hkv)
///
/// computed tile by tile with a running maximum and sum (Milakov & Gimelshein, "Online normalizer
/// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022).
///
/// Operands: offsets (only if packed), query, key, value, mask (only if there is one), output.
struct AttentionSpec {
  /// float32 [..., H, L, D]; last stride 1 (or D = 1), the others anything, 0 included. Rank >= 2:
  /// [L, D] is one head. Any number of batch dims.
  OperandSpec query;
  /// float32 [..., Hkv, S, D]; as query. Hkv divides H; batch dims equal to query's.
  OperandSpec key;
  /// float32 [..., Hkv, S, E]; as query.
  OperandSpec value;
  /// bool (true = attend) or float32 (added to the scores) with query's rank, sizes
  /// [..., H, L, S]: the planner expands with stride 0. Any strides.
  std::optional<OperandSpec> mask;
  /// Query row l attends keys s <= l (aligned at the top left); together with the mask if any.
  bool is_causal = false;
  float scale = 1;
  /// What a row whose keys are all masked (mask false, -inf, or none: S = 0) gives: zeros, or NaN.
  /// With S = 0 the result is zeros in both cases, as a product over an empty dim is.
  bool zero_fully_masked = true;
  /// float32 [..., H, L, E]; last stride 1 (or E = 1), the others anything that does not overlap.
  OperandSpec output;
  /// Sequences of different lengths, packed: of the B * L rows (b, l) of query, key, value and
  /// output, counted in this order, sequence b has those from offsets[b] to offsets[b + 1], as
  /// queries and as keys. `offsets` is int64 [B + 1] in memory. Rank 4; L = S; rows are at one
  /// distance from each other, over all sequences. A mask says the same to all rows and heads, and
  /// its keys are packed likewise, one after the other. Rows behind the last are not written.
  bool is_packed = false;
  /// Queries with keys, and weights with values. Few rows are multiplied in float32 in any case.
  Products products = Products::kFloat32;
  int threads = 1;
};

/// NaN scores make their row NaN.
KernelPtr select_attention(const AttentionSpec& spec);

}  // namespace unfuse::cpu
