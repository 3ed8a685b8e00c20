// Pooling over the last one to three dims.
#pragma once

#include <cstdint>
#include <optional>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

enum class PoolKind {
  kMax,  ///< NaN if any is; padding counts as -inf
  kAverage,
  kAdaptiveAverage,  ///< window i of n covers [floor(i * size / n), ceil((i + 1) * size / n))
  kAdaptiveMax,
};

/// Operands: input, output, and the indices if wanted.
struct PoolSpec {
  PoolKind kind = PoolKind::kMax;
  /// float32 [..., spatial dims], any strides.
  OperandSpec input;
  /// One a spatial dim, 1 to 3 of them. The adaptive kinds leave them empty and set spatial_rank.
  Sizes kernel;
  Sizes stride;
  Sizes padding;
  Sizes dilation;  ///< max only; empty means 1
  std::int64_t spatial_rank = 2;
  /// Average: whether padding counts in the divisor; ceil_mode's overhang never does.
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override;
  /// float32, any strides that do not overlap. The spatial sizes say whether ceil_mode is meant.
  OperandSpec output;
  /// Max kinds: int64 with output's sizes, any strides: the position in the input's spatial
  /// dims, row-major.
  std::optional<OperandSpec> indices;
  int threads = 1;
};

KernelPtr select_pool(const PoolSpec& spec);

}  // namespace unfuse::cpu
