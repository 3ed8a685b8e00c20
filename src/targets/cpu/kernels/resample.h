// Images and signals at other sizes: weighted sums of neighbours, dim by dim.
#pragma once

#include <cstdint>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// What is summed along one dim: element i is the sum of weight[t] * input[index[t]] over t from
/// first[i] to first[i + 1], at least one.
struct Taps {
  std::vector<std::int64_t> first;  ///< one more than there are elements
  std::vector<std::int64_t> index;  ///< ascending within each sum
  std::vector<float> weight;
};

/// Operands: input, output.
struct ResampleSpec {
  /// float32 [..., spatial dims], any strides.
  OperandSpec input;
  std::vector<Taps> taps;  ///< one a spatial dim, 1 or 2
  /// float32, input's leading dims and as many elements as the taps say, any strides that do not
  /// overlap.
  OperandSpec output;
  int threads = 1;
};

KernelPtr select_resample(const ResampleSpec& spec);

}  // namespace unfuse::cpu
