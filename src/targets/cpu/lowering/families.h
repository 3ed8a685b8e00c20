// The families of lowerings: one constant array of rows a file, mirroring src/ops.
#pragma once

#include <span>

#include "targets/cpu/lowering/table.h"

namespace unfuse::cpu {

std::span<const LoweringRow> attention_lowerings();
std::span<const LoweringRow> convolution_lowerings();
std::span<const LoweringRow> copies_lowerings();
std::span<const LoweringRow> creation_lowerings();
std::span<const LoweringRow> indexing_lowerings();
std::span<const LoweringRow> matmul_lowerings();
std::span<const LoweringRow> norms_lowerings();
std::span<const LoweringRow> packed_rows_lowerings();
std::span<const LoweringRow> pooling_lowerings();
std::span<const LoweringRow> reductions_lowerings();
std::span<const LoweringRow> resampling_lowerings();
std::span<const LoweringRow> scan_lowerings();
std::span<const LoweringRow> softmax_lowerings();
std::span<const LoweringRow> views_lowerings();

}  // namespace unfuse::cpu
