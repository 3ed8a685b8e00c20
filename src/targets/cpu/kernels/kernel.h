// The interface of a kernel: select for types, sizes and strides; pack constants; run on pointers.
//
// A kernel knows no graph and no plan. Its header declares a spec (a plain struct) and
// `select_NAME(spec) -> KernelPtr`, which does everything that can be done before data is there;
// kernels with constant operands also declare `pack_NAME`, whose layout never depends on the number
// of rows. Operands, outputs included, are strided views: the header says which strides it takes,
// and select throws Error (kInternal) for others: the planner inserts copies, kernels never do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unfuse/dtype.h"

namespace unfuse::cpu {

using Sizes = std::vector<std::int64_t>;

/// What a kernel is told of an operand. Strides are in elements, and 0 where it is broadcast.
struct OperandSpec {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Sizes strides;

  std::int64_t rank() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t numel() const;
  bool is_contiguous() const;
  static OperandSpec contiguous(DType dtype, Sizes sizes);
};

/// Whether all dims but the last `trailing` ones can be walked with one stride: the operand is a
/// list of rows, or of matrices, at a constant distance. Dims of size 1 never stand in the way;
/// true for an empty operand.
bool leading_dims_collapse(const OperandSpec& operand, std::int64_t trailing);

/// That one stride, for dims that collapse; 0 when there are less than two rows or matrices.
std::int64_t leading_stride(const OperandSpec& operand, std::int64_t trailing);

/// Whether the last `count` dims lie in memory without gaps, in row-major order.
bool trailing_dims_contiguous(const OperandSpec& operand, std::int64_t count);

/// A kernel whose spec has `counted_rows`: so many rows are the operands' leading dims together,
/// and a further operand, the first, an int64 in memory, tells at run time how many of them are
/// computed, from the first on. What is written of others is undefined. Of `total` things in all,
/// the same number in each row, this gives those in the rows that are computed.
inline std::int64_t counted_part(std::int64_t total, std::int64_t counted_rows,
                                 const void* row_count) {
  return total / counted_rows * *static_cast<const std::int64_t*>(row_count);
}

/// Throws Error (kInternal) "NAME kernel: MESSAGE".
[[noreturn]] void refuse(const char* kernel, const char* message);

/// For select_NAME: refuses if `condition` does not hold.
inline void require(bool condition, const char* kernel, const char* message) {
  if (!condition) refuse(kernel, message);
}

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Bytes of 64-byte aligned scratch that run() may write; nothing is kept between runs.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// `operands` point at element (0, ..., 0) of each, in the order that select_NAME documents,
  /// inputs before outputs. May be called from many threads at once with different memory.
  virtual void run(std::span<void* const> operands, std::byte* scratch) const = 0;
};

using KernelPtr = std::unique_ptr<const Kernel>;

/// Constant operands in a kernel's own layout.
class Packed {
 public:
  virtual ~Packed() = default;
  virtual std::size_t bytes() const = 0;
};

using PackedPtr = std::shared_ptr<const Packed>;

/// A packed constant is an operand of run() like any other: its pointer is that of the Packed
/// object. So a plan, which is selected from types alone, serves every snapshot of the parameters.
inline void* packed_operand(const Packed& packed) { return const_cast<Packed*>(&packed); }
inline const Packed& packed_from_operand(const void* operand) {
  return *static_cast<const Packed*>(operand);
}

}  // namespace unfuse::cpu
