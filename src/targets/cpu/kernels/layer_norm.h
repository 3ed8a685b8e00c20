// Layer norm and RMS norm over the last dims.
#pragma once

#include <cstdint>
#include <optional>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

enum class NormKind {
  kLayerNorm,  ///< (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias
  kRmsNorm,    ///< x / sqrt(mean(x^2) + eps) * weight
};

/// Operands: row count (only if there are counted rows), input, residual (only if there is one),
/// weight (only if has_weight), bias (only if has_bias), sum (only if there is one), output.
struct NormSpec {
  NormKind kind = NormKind::kLayerNorm;
  /// float32; the last `normalized_rank` dims are contiguous (trailing_dims_contiguous), the
  /// leading dims may have any strides.
  OperandSpec input;
  /// float32 of the input's sizes, strides as for the input: input + residual is normalized.
  std::optional<OperandSpec> residual = std::nullopt;
  std::int64_t normalized_rank = 1;
  /// float32 with the sizes of the normalized dims, contiguous. RMS norm takes no bias.
  bool has_weight = false;
  bool has_bias = false;
  double eps = 1e-5;
  /// Where input + residual is written, only if there is a residual; float32, input's sizes,
  /// strides as for the input. May be the input's or the residual's own memory, not the output's.
  std::optional<OperandSpec> sum = std::nullopt;
  /// float32, input's sizes, strides as for the input. May be the input's own memory.
  OperandSpec output;
  std::optional<std::int64_t> counted_rows = std::nullopt;  ///< see counted_part()
  int threads = 1;
};

/// Means and variances are summed in float64.
KernelPtr select_norm(const NormSpec& spec);

}  // namespace unfuse::cpu
