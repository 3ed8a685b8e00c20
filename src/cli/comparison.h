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

/// A difference is infinite where only one of the two is NaN, or infinite.
struct Comparison {
  bool same_type = false;       ///< dtype and sizes; when false, nothing below is set
  std::int64_t mismatches = 0;  ///< elements beyond the tolerance
  double largest_absolute = 0;  ///< of |got - expected|
  /// Of |got - expected| / |expected|: infinite where 0 is expected and something else came.
  double largest_relative = 0;
  /// Row-major indices of the elements of both.
  std::int64_t where_absolute = 0;
  std::int64_t where_relative = 0;

  bool matches() const { return same_type && mismatches == 0; }
};

Comparison compare(const Tensor& got, const Tensor& expected, Tolerance tolerance);

}  // namespace unfuse::cli
