// Reading at indices: embedding, index_select, index with tensors, gather.
#pragma once

#include <cstdint>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// output = input[..., indices[0], ..., indices[1], ...]: aten.index, and with one index
/// aten.embedding and aten.index_select.
///
/// Operands: input, each of `indices`, output.
struct IndexSpec {
  /// Any dtype, any strides.
  OperandSpec input;
  /// The dims of the input that are indexed, increasing, one an entry of `indices`; at least one.
  std::vector<std::int64_t> dims;
  /// int64 or int32, any strides, all expanded (stride 0) to one common shape I.
  std::vector<OperandSpec> indices;
  /// Negative indices count from the end (aten.index); else they are out of range.
  bool wrap_negative = false;
  /// Input's dtype, or float32 for a float16 or bfloat16 input. Any strides that do not overlap.
  /// Sizes as PyTorch gives them: input's with the indexed dims replaced by I, at the place of the
  /// first if the dims are adjacent, else in front.
  OperandSpec output;
  int threads = 1;
};

/// run() throws Error (kInvalidArgument) naming an index that is out of range.
KernelPtr select_index(const IndexSpec& spec);

/// output[i][j][k] = input[index[i][j][k]][j][k] for dim 0, and so on: aten.gather.
///
/// Operands: input, index, output.
struct GatherSpec {
  /// Any dtype, any strides.
  OperandSpec input;
  std::int64_t dim = 0;  ///< in [0, rank); a scalar input has dim 0
  /// int64 or int32, input's rank, any strides; no larger than the input in the other dims.
  OperandSpec index;
  /// Input's dtype, index's sizes, any strides that do not overlap.
  OperandSpec output;
  int threads = 1;
};

/// run() throws Error (kInvalidArgument) naming an index that is out of range.
KernelPtr select_gather(const GatherSpec& spec);

/// self[..., indices[0], ...] = values, or += if accumulate: aten.index_put on memory that the
/// planner has already filled with `self`. Writes one after the other, the last one wins.
///
/// Operands: values, each of `indices`, output (read and written).
struct IndexPutSpec {
  /// Output's dtype; sizes of output[indices], broadcast dims with stride 0.
  OperandSpec values;
  std::vector<std::int64_t> dims;    ///< as in IndexSpec
  std::vector<OperandSpec> indices;  ///< as in IndexSpec; negative ones count from the end
  bool accumulate = false;
  OperandSpec output;
};

KernelPtr select_index_put(const IndexPutSpec& spec);

}  // namespace unfuse::cpu
