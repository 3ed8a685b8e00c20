// The tables of to_core, a file a family.
#pragma once

#include <span>

#include "passes/canonical.h"
#include "passes/rewrite.h"

namespace unfuse::passes {

std::span<const RewriteRow> core_creation();
std::span<const RewriteRow> core_functions();
std::span<const RewriteRow> core_indexing();
std::span<const RewriteRow> core_norms();
std::span<const RewriteRow> core_numbers();
std::span<const RewriteRow> core_pointwise();
std::span<const RewriteRow> core_pooling();
std::span<const RewriteRow> core_products();
std::span<const RewriteRow> core_reductions();
std::span<const RewriteRow> core_resampling();
std::span<const RewriteRow> core_softmax();
std::span<const RewriteRow> core_views();

/// The value, or a copy of it where it may not lie contiguous in memory.
Value* contiguous(Builder& builder, Value* value);

/// aten.view.default to `sizes`, behind a copy where the value may not lie contiguous in memory.
Value* view(Builder& builder, Value* value, const std::vector<Dim>& sizes);

/// A 0-d tensor.
Value* scalar(Builder& builder, const Argument& number, DType dtype);

/// float32 for float16 and bfloat16, in which PyTorch's kernels compute.
DType computed_in(DType dtype);

/// A node of an op with several results.
Node* make_node(Builder& builder, const Node& like, std::string_view op, Arguments positional,
                std::vector<Type> types);

}  // namespace unfuse::passes
