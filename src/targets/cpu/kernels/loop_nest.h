// Loops over strided operands of one shape, with as few dims as their strides allow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// Dims that a nest may have after merging. Real tensors stay far below.
inline constexpr int kMaxLoopRank = 16;

/// Dims from outermost to innermost, at least one. strides[operand][dim], in elements.
struct LoopNest {
  Sizes sizes;
  std::vector<Sizes> strides;

  std::int64_t inner_size() const { return sizes.back(); }
  /// Product of all sizes but the innermost.
  std::int64_t rows() const;
  std::int64_t inner_stride(std::size_t operand) const { return strides[operand].back(); }
  /// The dims outside the innermost.
  std::span<const std::int64_t> outer_sizes() const;
  std::span<const std::int64_t> outer_strides(std::size_t operand) const;
};

enum class LoopOrder {
  kKeep,     ///< row-major in the given dims
  kReorder,  ///< any order: the last operand's smallest strides go innermost
};

/// Drops dims of size 1 and merges dims that every operand walks with one stride. No dims give one
/// of size 1 and stride 1, no elements one of size 0. Throws Error (kUnsupported) above
/// kMaxLoopRank.
LoopNest make_loop_nest(const Sizes& sizes, std::vector<Sizes> strides, LoopOrder order);

/// Offset of one operand while walking rows in row-major order.
class RowWalker {
 public:
  /// Of outer sizes and strides as above; starts at `row`, below the product of the sizes.
  RowWalker(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
            std::int64_t row);
  std::int64_t offset() const { return offset_; }
  void next();

 private:
  std::span<const std::int64_t> sizes_;
  std::span<const std::int64_t> strides_;
  std::array<std::int64_t, kMaxLoopRank> index_;
  std::int64_t offset_ = 0;
};

}  // namespace unfuse::cpu
