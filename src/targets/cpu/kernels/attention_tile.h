// One tile of attention: some query rows against some keys, in packed buffers.
#pragma once

#include <cstdint>

namespace unfuse::cpu {

/// Rows that the register-blocked products take at a time; buffers of rows are padded to multiples.
inline constexpr std::int64_t kAttentionRows = 6;

/// A "panel" of a matrix of `count` columns is `width` neighbouring columns, row after row; all
/// have the full width but the last, which is as wide as it must be, in whole vectors.
struct AttentionTile {
  std::int64_t rows = 0;   ///< any; buffers hold padded_rows
  std::int64_t count = 0;  ///< keys, at least 1
  std::int64_t depth = 0;  ///< D
  std::int64_t width = 0;  ///< E

  const float* queries = nullptr;  ///< [padded rows, depth]
  const float* keys = nullptr;     ///< panels of [depth, count]
  const float* values = nullptr;   ///< panels of [count, width]
  float* scores = nullptr;         ///< [padded rows, score_stride], written
  std::int64_t score_stride = 0;   ///< count rounded up to a panel, or more

  float scale = 1;
  /// Added to the scaled scores of row r: additive + r * additive_stride; null when there is none.
  const float* additive = nullptr;
  std::int64_t additive_stride = 0;
  /// Row r attends the keys below causal_limit + r only.
  std::int64_t causal_limit = INT64_MAX / 2;

  // The running softmax of each row: scores so far have this maximum; sums and the unnormalised
  // output are relative to it.
  float* maxima = nullptr;         ///< [padded rows]
  float* sums = nullptr;           ///< [padded rows]
  float* output = nullptr;         ///< [padded rows, output_stride]
  std::int64_t output_stride = 0;  ///< width rounded up to whole vectors, or more
};

/// The same functions for each instruction set.
struct AttentionFunctions {
  std::int64_t panel;   ///< columns of a full panel
  std::int64_t vector;  ///< elements of a vector: the last panel's width is a multiple
  /// keys[s * stride + d], s < count, d < depth, into panels of the transpose [depth, count]. The
  /// columns past count of the last panel become zero.
  void (*pack_keys)(const float* keys, std::int64_t stride, std::int64_t count, std::int64_t depth,
                    float* panels);
  /// values[s * stride + e] into panels of [count, width], padded with zeros.
  void (*pack_values)(const float* values, std::int64_t stride, std::int64_t count,
                      std::int64_t width, float* panels);
  /// Scores, softmax and the product with the values: updates maxima, sums and output.
  void (*run_tile)(const AttentionTile& tile);
};

/// Of the best instruction set of this machine.
AttentionFunctions attention_functions();

}  // namespace unfuse::cpu
