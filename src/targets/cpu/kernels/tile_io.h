// Between elements of any dtype in memory and the three types that kernels compute in.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/kernels/pointwise.h"

namespace unfuse::cpu {

/// Reads `count` elements, `stride` elements apart (0: the same one again and again), into
/// contiguous memory of the register type.
using LoadFunction = void (*)(const void* from, std::int64_t stride, std::int64_t count, void* to);

/// The inverse. To bool: != 0. To integers from floats: truncated, wrapped to the width.
using StoreFunction = void (*)(const void* from, std::int64_t stride, std::int64_t count, void* to);

/// Null for complex and 8-bit floats.
LoadFunction load_function(DType dtype, RegisterType type);
StoreFunction store_function(RegisterType type, DType dtype);

/// The type that an element of this dtype is computed in without loss.
RegisterType natural_register(DType dtype);
std::size_t register_size(RegisterType type);

/// Truncates towards zero; NaN and what does not fit give the smallest int64, as the hardware does.
std::int64_t float_to_int64(double value);

}  // namespace unfuse::cpu
