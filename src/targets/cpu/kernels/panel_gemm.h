// Some rows times one panel of columns: the product that linear layers and products of activations
// are made of.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/gemm.h"

namespace unfuse::cpu {

/// output[r, n] = epilogue(alpha * sum over k of input[r, k] * panel[k, n] + bias[n]) + residual[r,
/// n]
///
/// The sum over k is made in parts of kPanelDepth: each is summed in registers, and the parts' sums
/// are added up. One running sum over all of k would round off with every step relative to the
/// whole: for K = 2048 its error is twice that of the library PyTorch calls; in parts it is 0.9 of
/// it. The order of the sums depends on k alone: a row gives the same bits in any block.
///
/// In products of bfloat16, an element of input and panel is a pair of bfloat16 that follow each
/// other along k, the second one zero where k ends; `depth` counts pairs. In split products, rows
/// of the input are three times as long: high, low, and finite high parts (see split_float32); the
/// panel is twice as deep: high and low parts; `depth` counts the pairs of one part.
struct PanelBlock {
  const float* input = nullptr;  ///< [rows, depth], stride 1 along depth
  std::int64_t input_stride = 0;
  std::int64_t rows = 0;  ///< any
  /// [depth, columns], stride 1 along columns, filled up with zeros to whole vectors.
  const float* panel = nullptr;
  std::int64_t panel_stride = 0;
  std::int64_t depth = 0;    ///< K, at least 1
  std::int64_t columns = 0;  ///< 1 to the width of a panel
  float alpha = 1;
  const float* bias = nullptr;  ///< [columns], or null
  Epilogue epilogue = Epilogue::kNone;
  const float* residual = nullptr;  ///< [rows, columns], stride 1 along columns, or null
  std::int64_t residual_stride = 0;
  float* output = nullptr;  ///< [rows, columns], stride 1 along columns
  std::int64_t output_stride = 0;
  float* sums = nullptr;  ///< scratch for rows times the columns in whole vectors
};

inline constexpr std::int64_t kPanelDepth = 128;

/// The same functions for each instruction set.
struct PanelFunctions {
  std::int64_t vector;  ///< columns are computed in multiples of these
  std::int64_t width;   ///< columns of a panel, at most; a multiple of `vector`
  std::int64_t rows;    ///< rows are computed so many at a time
  void (*run)(const PanelBlock& block);
  /// In products of bfloat16; null where the machine has none.
  void (*run_bfloat16)(const PanelBlock& block) = nullptr;
  /// On tile registers; null where the machine has none. `depth` is a multiple of kTile, and what
  /// input and sums point at has whole tiles of rows.
  void (*run_bfloat16_tiles)(const PanelBlock& block) = nullptr;
  void (*run_split_tiles)(const PanelBlock& block) = nullptr;

  /// Null where there is none.
  auto of(Products products) const {
    switch (products) {
      case Products::kFloat32:
        return run;
      case Products::kBFloat16:
        return run_bfloat16;
      case Products::kBFloat16Tiles:
        return run_bfloat16_tiles;
      case Products::kSplitTiles:
        return run_split_tiles;
    }
    return run;
  }
};

/// Of the best instruction set of this machine.
PanelFunctions panel_functions();

}  // namespace unfuse::cpu
