// Rows of float32 as products of bfloat16 read them (see PanelBlock), one part after the other,
// each filled up with zeros to whole tiles of pairs.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/products.h"

namespace unfuse::cpu {

/// Elements of one part: pairs of the `count` numbers, or the numbers themselves in float32.
std::int64_t part_size(Packing packing, std::int64_t count);

/// Elements of a row: all parts of it.
std::int64_t input_row_size(Packing packing, std::int64_t count);
std::int64_t weight_row_size(Packing packing, std::int64_t count);

/// Not for Packing::kFloat32.
void store_input_row(Packing packing, const float* from, std::int64_t count, float* to);

/// An infinite weight has it in its low part and nothing in the high one: low parts of inputs, zero
/// more often than not, would make NaN of it.
void store_weight_row(Packing packing, const float* from, std::int64_t count, float* to);

}  // namespace unfuse::cpu
