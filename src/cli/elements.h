// Single elements of tensors of any dtype, as double: for printing, comparing and drawing.
#pragma once

#include <cstddef>

#include "unfuse/dtype.h"

namespace unfuse::cli {

/// A complex element counts as two of half its size; see numbers_in().
double read_number(const std::byte* element, DType dtype);
void write_number(std::byte* element, DType dtype, double value);

/// Real numbers an element is made of: 2 for complex dtypes.
std::size_t numbers_in(DType dtype);
/// The dtype of those: float32 for complex64.
DType number_type(DType dtype);

/// False for the 8-bit floats and complex32, whose elements are compared bit by bit.
bool has_numbers(DType dtype);

}  // namespace unfuse::cli
