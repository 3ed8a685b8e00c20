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

}  // namespace unfuse::cpu
