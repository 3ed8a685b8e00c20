// The families of ops: one constant array of rows a file.
#pragma once

#include <span>

#include "ops/catalogue.h"

namespace unfuse::ops {

std::span<const OpInfo> pointwise_unary_ops();
std::span<const OpInfo> pointwise_binary_ops();
std::span<const OpInfo> comparison_ops();
std::span<const OpInfo> selection_ops();
std::span<const OpInfo> creation_ops();
std::span<const OpInfo> views_ops();
std::span<const OpInfo> copies_ops();
std::span<const OpInfo> reductions_ops();
std::span<const OpInfo> matmul_ops();
std::span<const OpInfo> norms_ops();
std::span<const OpInfo> softmax_ops();
std::span<const OpInfo> activations_ops();
std::span<const OpInfo> dropout_ops();
std::span<const OpInfo> convolution_ops();
std::span<const OpInfo> pooling_ops();
std::span<const OpInfo> resampling_ops();
std::span<const OpInfo> indexing_ops();
std::span<const OpInfo> scan_ops();
std::span<const OpInfo> attention_ops();
std::span<const OpInfo> asserts_ops();
std::span<const OpInfo> loss_ops();
std::span<const OpInfo> recurrent_ops();
std::span<const OpInfo> packed_rows_ops();

}  // namespace unfuse::ops
