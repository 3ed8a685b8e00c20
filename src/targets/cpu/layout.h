// Questions about strides that the planner and the lowerings share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// "[2, 3]"
std::string sizes_text(const Sizes& sizes);

/// Every element has a place of its own and there are no gaps, in whatever order of dimensions.
/// Strides of dimensions of size 1 do not matter.
bool is_dense(const OperandSpec& spec);

/// The strides, when they are given and dense, else contiguous ones. Throws as checked_bytes does.
OperandSpec dense_or_contiguous(DType dtype, const Sizes& sizes,
                                const std::optional<std::vector<std::int64_t>>& strides);

/// Bytes of a contiguous tensor. Throws Error (kInvalidArgument) when they do not fit 63 bits.
std::int64_t checked_bytes(DType dtype, const Sizes& sizes);

/// Bytes from the first element to the end of the last one in memory; strides are not negative.
std::int64_t extent_bytes(const OperandSpec& spec);

/// Same dtype, sizes and strides, where strides of dimensions of size 1 do not matter.
bool same_layout(const OperandSpec& left, const OperandSpec& right);

/// The strides with those of dimensions of size 1 replaced by what a contiguous tensor would have
/// there: layouts that differ in nothing else become equal.
Sizes canonical_strides(const Sizes& sizes, const Sizes& strides);

/// Strides of the same elements in row-major order under other sizes; empty when that takes a copy.
/// Both hold the same number of elements.
std::optional<Sizes> reshaped_strides(const OperandSpec& spec, const Sizes& sizes);

}  // namespace unfuse::cpu
