// Strided copies with conversion of dtype.
#pragma once

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// Operands: input, output.
struct CopySpec {
  /// Every dtype except complex and 8-bit floats (those only without conversion); any strides, 0
  /// included. Fast when both are dense in one order, when the inner dims are contiguous, and for
  /// transposes.
  OperandSpec input;
  /// Input's sizes; any strides that do not overlap. Must not overlap the input.
  ///
  /// Converted as torch's .to(): to 16-bit floats to the nearest, ties to even (from float64
  /// through float32); float to int truncates; to bool is != 0.
  OperandSpec output;
  int threads = 1;
};

KernelPtr select_copy(const CopySpec& spec);

}  // namespace unfuse::cpu
