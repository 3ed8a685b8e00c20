// The tables of lowerings, a function a family.
#pragma once

#include <span>

#include "onnx/lowering/table.h"

namespace unfuse::onnx {

std::span<const LoweringRow> activations_lowerings();
std::span<const LoweringRow> attention_lowerings();
std::span<const LoweringRow> comparison_lowerings();
std::span<const LoweringRow> convolution_lowerings();
std::span<const LoweringRow> copies_lowerings();
std::span<const LoweringRow> creation_lowerings();
std::span<const LoweringRow> indexing_lowerings();
std::span<const LoweringRow> matmul_lowerings();
std::span<const LoweringRow> norms_lowerings();
std::span<const LoweringRow> pointwise_binary_lowerings();
std::span<const LoweringRow> pointwise_unary_lowerings();
std::span<const LoweringRow> pooling_lowerings();
std::span<const LoweringRow> reductions_lowerings();
std::span<const LoweringRow> resampling_lowerings();
std::span<const LoweringRow> scan_lowerings();
std::span<const LoweringRow> selection_lowerings();
std::span<const LoweringRow> softmax_lowerings();
std::span<const LoweringRow> views_lowerings();

}  // namespace unfuse::onnx
