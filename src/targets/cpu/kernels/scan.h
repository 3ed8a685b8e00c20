// Running sums and products along a dim.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

enum class ScanOp { kSum, kProd };

/// Operands: input, output.
struct ScanSpec {
  ScanOp op = ScanOp::kSum;
  /// Any strides; every dtype except complex and 8-bit floats.
  OperandSpec input;
  std::int64_t dim = 0;  ///< in [0, rank); a scalar has dim 0
  /// Input's sizes, any strides that do not overlap; any dtype, computed in float64 or, if both
  /// are integers or bool, int64. May be the input's own memory if dtype and strides are equal.
  OperandSpec output;
  int threads = 1;
};

KernelPtr select_scan(const ScanSpec& spec);

}  // namespace unfuse::cpu
