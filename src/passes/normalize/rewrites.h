// The rewrites that normalize() follows, a file a family. What each turns into is in
// docs/dialect.md.
#pragma once

#include <span>

#include "passes/canonical.h"
#include "passes/rewrite.h"

namespace unfuse::passes {

std::span<const RewriteRow> alias_name_rewrites();
std::span<const RewriteRow> assertion_rewrites();
std::span<const RewriteRow> view_rewrites();
std::span<const RewriteRow> shape_rewrites();
std::span<const RewriteRow> conversion_rewrites();
std::span<const RewriteRow> creation_rewrites();
std::span<const RewriteRow> number_rewrites();
std::span<const RewriteRow> pointwise_rewrites();
std::span<const RewriteRow> reduction_rewrites();
std::span<const RewriteRow> softmax_rewrites();
std::span<const RewriteRow> norm_rewrites();
std::span<const RewriteRow> pooling_rewrites();
std::span<const RewriteRow> resampling_rewrites();
std::span<const RewriteRow> convolution_rewrites();
std::span<const RewriteRow> einsum_rewrites();
std::span<const RewriteRow> bilinear_rewrites();
std::span<const RewriteRow> matmul_rewrites();
std::span<const RewriteRow> linear_rewrites();

/// All of them: the table that normalize() follows.
const RewriteTable& normalizations();

}  // namespace unfuse::passes
