// The mask of attention, tile by tile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "targets/cpu/kernels/attention_shape.h"
#include "targets/cpu/kernels/attention_tile.h"

namespace unfuse::cpu {

/// Some rows of a group's heads, one after the other: row r is row `first_row + r % rows_a_head` of
/// head `first_head + r / rows_a_head`.
struct AttentionRowSet {
  std::int64_t first_head = 0;
  std::int64_t heads = 1;
  std::int64_t first_row = 0;
  std::int64_t rows_a_head = 0;

  std::int64_t size() const { return heads * rows_a_head; }
  std::int64_t row(std::int64_t r) const { return first_row + r % rows_a_head; }
  std::int64_t offset(const AttentionStrides& strides, std::int64_t r) const {
    return (first_head + r / rows_a_head) * strides.head + row(r) * strides.row;
  }
};

struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

class AttentionMask {
 public:
  AttentionMask(const AttentionSpec& spec, const AttentionShape& shape,
                const AttentionFunctions& functions);

  bool exists() const { return element_bytes_ != 0; }
  /// Elements from `base`, the mask's first, to those of a group.
  const std::byte* of_group(const void* base, std::int64_t group) const;
  /// The same where rows are packed: `first_row` is the first of the group's sequence.
  const std::byte* of_sequence(const void* base, std::int64_t first_row) const {
    return static_cast<const std::byte*>(base) + first_row * strides_.column * element_bytes_;
  }
  /// Whether all these rows have the same mask.
  bool is_same_for(const AttentionRowSet& rows) const;
  /// Floats of scratch that point_at needs.
  std::int64_t scratch_size(std::int64_t rows, std::int64_t keys) const;

  /// The least range outside of which the row's keys are all hidden, within `keys`.
  KeyRange visible(const std::byte* group_mask, const AttentionRowSet& rows, KeyRange keys,
                   float* scratch) const;

  /// Sets the masks of `count` rows from `first` on, for the keys of a tile: where they are, or
  /// copies in `scratch`. Returns their kind.
  AttentionMaskKind point_at(const std::byte* group_mask, const AttentionRowSet& rows,
                             std::int64_t first, std::int64_t count, KeyRange keys, float* scratch,
                             const void** masks) const;
  /// Of rows that point_at has set.
  AttentionMaskSummary summarize(AttentionMaskKind kind, const void* const* masks,
                                 std::int64_t rows, std::int64_t keys) const;

 private:
  void copy_row(const std::byte* from, std::int64_t count, float* to) const;

  const AttentionShape* shape_;
  AttentionFunctions functions_;
  AttentionStrides strides_;
  std::int64_t element_bytes_ = 0;
};

}  // namespace unfuse::cpu
