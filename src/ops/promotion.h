// PyTorch's type promotion.
#pragma once

#include <span>

#include "ir/argument.h"
#include "unfuse/dtype.h"

namespace unfuse::ops {

/// torch.promote_types. Throws Error (kInvalidArgument) for the pairs that PyTorch refuses.
DType promote(DType left, DType right);

/// torch.result_type of tensors and numbers together: tensors with dimensions outrank 0-d tensors,
/// which outrank numbers, within one kind (bool, integer, floating, complex). None is left out.
/// Throws Error (kInvalidArgument) when there is no operand.
DType result_dtype(std::span<const Argument> operands);

/// float32 for bool and integers, else the dtype itself: what exp and true division compute in.
DType floating(DType dtype);

/// The dtype that a lone number gives: bool, int64 or float32.
DType number_dtype(const Argument& number);

}  // namespace unfuse::ops
