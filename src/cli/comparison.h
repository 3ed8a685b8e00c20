// How far one tensor is from another.
#pragma once

#include <cstdint>

#include "unfuse/tensor.h"

namespace unfuse::cli {

/// An element matches when |got - expected| <= absolute + relative * |expected|, as in NumPy's
/// allclose. NaN matches NaN, and an infinity itself.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What a model computed in another order of the same sums may differ by: rounding of this dtype.
/// Integers and bools must be equal.
Tolerance default_tolerance(DType dtype);

struct Comparison {
  bool same_type = false;       ///< dtype and sizes; when false, nothing below is set
  std::int64_t mismatches = 0;  ///< elements beyond the tolerance
  double largest_absolute = 0;  ///< infinity where only one is NaN
  double largest_relative = 0;  ///< over the elements whose expected value is not 0
  std::int64_t where = 0;       ///< row-major index of the element of largest_absolute

  bool matches() const { return same_type && mismatches == 0; }
};

Comparison compare(const Tensor& got, const Tensor& expected, Tolerance tolerance);

}  // namespace unfuse::cli
