// Reductions over any set of dims.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

enum class ReduceOp {
  kSum,
  kMean,  ///< floating point; NaN over nothing
  kProd,
  kAmax,          ///< NaN if any is
  kAmin,          ///< NaN if any is
  kAny,           ///< any != 0
  kAll,           ///< all != 0
  kArgmax,        ///< the first largest (NaN is larger than all); position in the reduced dims
  kArgmin,        ///< the first smallest (NaN is smaller than all)
  kMaxWithIndex,  ///< second output: int64 index of the first largest
  kMinWithIndex,
  kVar,          ///< sum((x - mean)^2) / max(0, n - correction)
  kStd,          ///< sqrt of kVar
  kSumSquares,   ///< sum(x^2)
  kSumAbsolute,  ///< sum(|x|)
};

/// Operands: input, output, and for the ops with an index the indices.
struct ReduceSpec {
  ReduceOp op = ReduceOp::kSum;
  /// Any strides; every dtype except complex and 8-bit floats (mean, var, std: floating point).
  OperandSpec input;
  /// Dims to reduce, each in [0, rank), increasing; empty reduces nothing. Index positions count
  /// row-major within the reduced dims.
  std::vector<std::int64_t> dims;
  double correction = 1;  ///< of kVar and kStd
  /// Input's rank, with size 1 at the reduced dims (a keepdim view; the stride there is ignored).
  /// Any dtype; computed in float64 (floating point) or int64 and converted at the end. kArgmax,
  /// kArgmin: int64.
  OperandSpec output;
  std::optional<OperandSpec> indices;
  int threads = 1;
};

/// Throws Error (kInvalidArgument) for amax, amin, argmax, argmin over no elements.
KernelPtr select_reduce(const ReduceSpec& spec);

}  // namespace unfuse::cpu
