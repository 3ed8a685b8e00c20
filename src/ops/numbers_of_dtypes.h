// What numbers become in a dtype.
#pragma once

#include <cstdint>

#include "unfuse/dtype.h"

namespace unfuse::ops {

/// The distance from 1 to the next number of a floating dtype, as torch.finfo(dtype).eps; float32's
/// for every other dtype.
double machine_epsilon(DType dtype);

/// The largest number of a floating dtype, as torch.finfo(dtype).max; float32's for every other
/// dtype.
double largest_number(DType dtype);

/// The low bits of a number, as an integer dtype reads them; for bool, whether it is not zero.
std::int64_t wrapped(std::int64_t number, DType dtype);

}  // namespace unfuse::ops
