// What index and index_put share: the loops over index positions and over the slices there.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/kernels/loop_nest.h"

namespace unfuse::cpu {

/// `indexed` is the tensor that is indexed, `slices` the one of indexed[indices]'s sizes: the dims
/// of `indexed` that have no index, with the indices' common shape in the place of the first
/// indexed dim if those are adjacent, else in front.
class IndexLoops {
 public:
  /// Throws Error (kInternal) naming `kernel` when sizes or dtypes do not fit, kUnsupported for
  /// more than kMaxLoopRank indices.
  IndexLoops(const char* kernel, const OperandSpec& indexed, const std::vector<std::int64_t>& dims,
             const std::vector<OperandSpec>& indices, const OperandSpec& slices,
             bool wrap_negative);

  /// Loops over index positions, in row-major order; operands: each index, slices.
  const LoopNest& positions() const { return positions_; }
  std::int64_t position_count() const;
  /// Loops over the elements at one position; operands: indexed, slices.
  const LoopNest& elements() const { return elements_; }
  std::int64_t element_count() const;

  /// Walks positions from `first` on.
  class Walker {
   public:
    Walker(const IndexLoops& loops, std::span<void* const> indices, std::int64_t first);
    void next();
    /// Offset of the slice in the tensor that is indexed. Throws Error (kInvalidArgument) for an
    /// index that is out of range.
    std::int64_t indexed_offset() const;
    std::int64_t slices_offset() const { return offsets_[loops_.dims_.size()]; }

   private:
    const IndexLoops& loops_;
    std::span<void* const> indices_;
    std::array<std::int64_t, kMaxLoopRank> position_{};
    std::array<std::int64_t, kMaxLoopRank + 1> offsets_{};  ///< in each index, and in slices
  };

 private:
  struct IndexedDim {
    std::int64_t size, stride;
    bool is_int64;
  };

  std::vector<IndexedDim> dims_;
  bool wrap_negative_;
  LoopNest positions_;
  LoopNest elements_;
};

/// Throws Error (kInvalidArgument): an index that its dim does not have.
[[noreturn]] void index_out_of_range(std::int64_t index, std::int64_t size);

}  // namespace unfuse::cpu
