// Tensors from nothing.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// A Python number: exact in one of its two members.
struct Scalar {
  static Scalar integer(std::int64_t value) { return {true, value, static_cast<double>(value)}; }
  static Scalar floating(double value) { return {false, 0, value}; }
  bool is_integer = true;
  std::int64_t as_integer = 0;  ///< if is_integer
  double as_double = 0;
};

/// Operands: output, of any dtype except complex and 8-bit floats; any strides that do not overlap.
struct FillSpec {
  OperandSpec output;
  Scalar value;
  int threads = 1;
};

KernelPtr select_fill(const FillSpec& spec);

/// output[i] = start + i * step, computed in int64 if both are integers and in float64 otherwise
/// (aten.arange; the caller knows the length).
///
/// Operands: output, rank 1, as for FillSpec.
struct ArangeSpec {
  OperandSpec output;
  Scalar start;
  Scalar step = Scalar::integer(1);
  int threads = 1;
};

KernelPtr select_arange(const ArangeSpec& spec);

}  // namespace unfuse::cpu
