// The elements of each line along a dim in order, or the first of them.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// Operands: input, values, indices. NaN is above all numbers, and zeros are equal whatever their
/// sign; equal elements stay in the order that they have in the line.
struct SortSpec {
  /// Any strides; every dtype except complex, 8-bit floats and uint64.
  OperandSpec input;
  std::int64_t dim = 0;  ///< in [0, rank); a scalar has dim 0
  bool descending = false;
  /// Input's dtype and sizes, but that of `dim`, which may be less: so many elements of each line,
  /// the first in order. Any strides that do not overlap.
  OperandSpec values;
  /// int64 with the sizes of values, any strides that do not overlap: where in the line they were.
  OperandSpec indices;
  int threads = 1;
};

KernelPtr select_sort(const SortSpec& spec);

}  // namespace unfuse::cpu
