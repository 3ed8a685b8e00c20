// Layer norm and RMS norm over the last dims.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

enum class NormKind {
  kLayerNorm,  ///< (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias
  kRmsNorm,    ///< x / sqrt(mean(x^2) + eps) * weight
};

/// Operands: input, weight (only if has_weight), bias (only if has_bias), output.
struct NormSpec {
  NormKind kind = NormKind::kLayerNorm;
  /// float32; the last `normalized_rank` dims are contiguous (trailing_dims_contiguous), the
  /// leading dims may have any strides.
  OperandSpec input;
  std::int64_t normalized_rank = 1;
  /// float32 with the sizes of the normalized dims, contiguous. RMS norm takes no bias.
  bool has_weight = false;
  bool has_bias = false;
  double eps = 1e-5;
  /// float32, input's sizes, strides as for the input. May be the input's own memory.
  OperandSpec output;
  int threads = 1;
};

/// Means and variances are summed in float64.
KernelPtr select_norm(const NormSpec& spec);

}  // namespace unfuse::cpu
