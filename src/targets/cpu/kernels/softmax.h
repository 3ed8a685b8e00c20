// Softmax and its kin over any dim.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

enum class SoftmaxKind {
  kSoftmax,      ///< exp(x - max) / sum(exp(x - max)); NaN for a row of -inf
  kLogSoftmax,   ///< x - max - log(sum(exp(x - max)))
  kSafeSoftmax,  ///< softmax, but zeros for a row of -inf (aten._safe_softmax)
};

/// Operands: input, output.
struct SoftmaxSpec {
  SoftmaxKind kind = SoftmaxKind::kSoftmax;
  /// float32, any strides; fastest when `dim` has stride 1.
  OperandSpec input;
  std::int64_t dim = -1;  ///< negative counts from the end; a scalar has dim 0
  /// float32, input's sizes, any strides that do not overlap. May be the input's own memory if the
  /// strides are equal.
  OperandSpec output;
  int threads = 1;
};

KernelPtr select_softmax(const SoftmaxSpec& spec);

}  // namespace unfuse::cpu
