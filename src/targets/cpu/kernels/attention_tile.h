// One tile of attention: some query rows against some keys.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/products.h"

namespace unfuse::cpu {

/// Query rows of a tile at most: their scores are in the cache at one time.
inline constexpr std::int64_t kAttentionTileRows = 48;
/// The products of float32 take rows two, four or six at a time: buffers of rows are padded to
/// multiples.
inline constexpr std::int64_t kAttentionRowMultiple = 2;
/// So many rows or less are multiplied with keys that are not packed.
inline constexpr std::int64_t kAttentionFewRows = 4;

enum class AttentionMaskKind : std::uint8_t {
  kNone,
  kBool,   ///< nonzero bytes attend
  kFloat,  ///< added to the scores
};

/// In products of bfloat16 an element of queries and keys is a pair along the depth, one of values
/// a pair of keys: `depth` and rows of `values` count pairs.
struct AttentionTile {
  std::int64_t rows = 0;   ///< at most kAttentionTileRows; buffers hold padded rows
  std::int64_t count = 0;  ///< keys, at least 1
  std::int64_t depth = 0;  ///< D
  std::int64_t width = 0;  ///< E

  const float* queries = nullptr;  ///< [padded rows, depth]
  /// Packed by pack_keys; or [count, key_stride] where they are, for few rows of whole vectors.
  const float* keys = nullptr;
  std::int64_t key_stride = 0;  ///< 0: packed
  /// [count, value_stride], readable up to width rounded up to whole vectors.
  const float* values = nullptr;
  std::int64_t value_stride = 0;
  float* scores = nullptr;        ///< [padded rows, score_stride], written
  std::int64_t score_stride = 0;  ///< count rounded up to a panel, or more
  float scale = 1;                ///< of the scores; above zero

  AttentionMaskKind mask_kind = AttentionMaskKind::kNone;
  const void* const* mask = nullptr;  ///< [rows]: `count` elements of each row's mask
  /// [padded rows]: row r sees the keys below limits[r] only, which is at most count and may be
  /// negative; null when every row sees all.
  const std::int64_t* limits = nullptr;

  // The running softmax of each row: its scores so far, times log2(e), have this maximum; sums and
  // the unnormalised output are relative to it.
  float* maxima = nullptr;         ///< [kAttentionTileRows]
  float* sums = nullptr;           ///< [rows, vector]: to be added up
  float* output = nullptr;         ///< [padded rows, output_stride]
  std::int64_t output_stride = 0;  ///< width rounded up to whole vectors, or more
};

/// What a part of a mask does to the scores.
struct AttentionMaskSummary {
  bool is_transparent = false;  ///< hides and adds nothing
  bool is_opaque = false;       ///< all are -inf, or so low that most likely no weight remains
  float largest = 0;            ///< of an opaque part
};

/// The same functions for each instruction set.
struct AttentionFunctions {
  std::int64_t panel;   ///< columns of a full panel of packed keys
  std::int64_t vector;  ///< elements of a vector
  /// Floats that pack_keys writes for `count` keys.
  std::int64_t (*packed_keys_size)(std::int64_t count, std::int64_t depth);
  /// keys[s * stride + d], s < count, d < depth.
  void (*pack_keys)(const float* keys, std::int64_t stride, std::int64_t count, std::int64_t depth,
                    float* packed);
  /// Rows of `width` elements, times factor, padded with zeros to whole vectors where to_stride has
  /// room for them.
  void (*copy_rows)(const float* from, std::int64_t from_stride, std::int64_t count,
                    std::int64_t width, float factor, float* to, std::int64_t to_stride);
  /// The largest |x| of `count` rows; infinity if one is infinite or NaN.
  float (*largest_magnitude)(const float* rows, std::int64_t stride, std::int64_t count,
                             std::int64_t width);
  AttentionMaskSummary (*summarize_mask)(AttentionMaskKind kind, const void* mask,
                                         std::int64_t count);
  /// Scores, softmax and the product with the values: updates maxima, sums and output.
  void (*run_tile)(const AttentionTile& tile);
  /// A row of the result: output / sum. False, and nothing written, when the sum is zero: the row
  /// saw no key.
  bool (*finish_row)(const float* output, const float* sums, std::int64_t width, float* to);
};

/// For products of bfloat16.
struct AttentionPairFunctions {
  std::int64_t row_multiple;    ///< buffers of rows are padded to multiples
  std::int64_t depth_multiple;  ///< and rows of pairs, along the depth and along the keys
  /// As copy_rows, padded with zeros to all of to_stride. Packed likewise, keys are rows of pairs.
  void (*copy_rows)(const float* from, std::int64_t from_stride, std::int64_t count,
                    std::int64_t width, float factor, float* to, std::int64_t to_stride);
  /// Rows 2i and 2i + 1 become row i of pairs, padded with zeros to whole vectors; there are rows
  /// of zeros up to the multiple.
  void (*pair_rows)(const float* from, std::int64_t from_stride, std::int64_t count,
                    std::int64_t width, float* to, std::int64_t to_stride);
  /// Of packed keys.
  void (*run_tile)(const AttentionTile& tile);
};

/// Null where the machine has no such products, or they are of float32.
const AttentionPairFunctions* attention_pair_functions(Products products);

/// Of the best instruction set of this machine.
AttentionFunctions attention_functions();

}  // namespace unfuse::cpu
