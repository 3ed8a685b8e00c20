// Weights of any layout and float width as contiguous float32, for packing.
#pragma once

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// float32, float16 or bfloat16, any strides. Throws Error (kInternal) for other dtypes.
AlignedBuffer widen_weight(const OperandSpec& weight, const void* data, int threads);

}  // namespace unfuse::cpu
