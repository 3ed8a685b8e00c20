// What follows a matrix product, and products over nothing.
#pragma once

#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// output = epilogue(input), element by element; both float32 of equal sizes. Operands: input,
/// output. In place if both are the same memory.
KernelPtr select_epilogue(Epilogue epilogue, const OperandSpec& input, const OperandSpec& output,
                          int threads);

/// A product with no row, no column or nothing to sum over (K = 0): does nothing, or writes the
/// epilogue of the bias or of zeros. Operands as those of a product: two that are not read, the
/// bias if has_bias, the output.
KernelPtr select_empty_product(Epilogue epilogue, const OperandSpec& output, bool has_bias,
                               int threads);

}  // namespace unfuse::cpu
