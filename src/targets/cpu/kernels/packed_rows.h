// Rows of a matrix without those that are left out, and back.
#pragma once

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// Operands: kept, offsets, sources, places.
///
/// offsets[b]: how many rows are kept before those of sequence b; the last is their number.
/// sources[i]: which row the i-th kept one is, counted over all sequences; no more are written than
/// there are. places[r]: which kept row r is, or -1.
struct PackedRowsSpec {
  OperandSpec kept;  ///< bool [batch, length], any strides; outputs are int64, contiguous
};

KernelPtr select_packed_rows(const PackedRowsSpec& spec);

/// Operands: offsets, sources, input, output. output[i] = input[sources[i]] for the rows that are
/// kept; others are not written.
struct PackRowsSpec {
  std::int64_t sequences = 0;  ///< offsets has one more
  OperandSpec input;           ///< [rows, width] of any dtype; the last stride 1 (or width 1)
  OperandSpec output;          ///< the same sizes and dtype, contiguous
  int threads = 1;
};

KernelPtr select_pack_rows(const PackRowsSpec& spec);

/// Operands: places, input, output. output[r] = input[places[r]], or zeros where that is -1.
struct UnpackRowsSpec {
  OperandSpec input;   ///< [rows, width] of any dtype; the last stride 1 (or width 1)
  OperandSpec output;  ///< the same sizes and dtype, contiguous
  int threads = 1;
};

KernelPtr select_unpack_rows(const UnpackRowsSpec& spec);

}  // namespace unfuse::cpu
