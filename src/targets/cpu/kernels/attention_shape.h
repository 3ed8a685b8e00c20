// Sizes and strides of attention's operands, as its kernel walks them.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/attention.h"

namespace unfuse::cpu {

/// Strides of an operand [batch..., group, head in group, row, column]. Keys and values of a group
/// have a head stride of 0.
struct AttentionStrides {
  Sizes group;  ///< batch..., group
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// Heads that share their keys and values are a group; without grouped heads each is its own.
struct AttentionShape {
  /// Throws Error (kInternal) for what attention.h does not allow.
  explicit AttentionShape(const AttentionSpec& spec);

  Sizes group_sizes;        ///< batch..., groups
  std::int64_t groups = 1;  ///< product of these
  std::int64_t heads_in_group = 1;
  std::int64_t length = 0;         ///< L
  std::int64_t source_length = 0;  ///< S
  std::int64_t depth = 0;          ///< D
  std::int64_t width = 0;          ///< E
  AttentionStrides query, key, value, mask, output;

  /// Elements from an operand's first to the first of a group.
  std::int64_t offset(const AttentionStrides& strides, std::int64_t group) const;

  /// Where rows are packed: the sequence that a group belongs to, and the same as above without the
  /// rows of the sequences before it.
  std::int64_t sequence(std::int64_t group) const { return group / group_sizes.back(); }
  std::int64_t packed_offset(const AttentionStrides& strides, std::int64_t group) const {
    return group % group_sizes.back() * strides.group.back();
  }
};

}  // namespace unfuse::cpu
