// Products over nothing.
#pragma once

#include <optional>

#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// A product with no row, no column or nothing to sum over (K = 0): does nothing, or writes the
/// epilogue of the bias or of zeros, plus the residual. Operands as those of a product: two that
/// are not read, the bias if has_bias, the residual if there is one, the output.
KernelPtr select_empty_product(Epilogue epilogue, const OperandSpec& output, bool has_bias,
                               const std::optional<OperandSpec>& residual, int threads);

}  // namespace unfuse::cpu
