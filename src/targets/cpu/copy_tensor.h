// Copying a tensor outside of a plan.
#pragma once

#include "unfuse/tensor.h"

namespace unfuse::cpu {

/// Copies all elements, converting them. Both have the same sizes; strides may be any, those of
/// `to` must not overlap.
void copy_tensor(const Tensor& from, const Tensor& to, int threads);

}  // namespace unfuse::cpu
