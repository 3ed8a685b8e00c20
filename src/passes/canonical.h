// Builds nodes of the canonical dialect (docs/dialect.md). Where the result would be the operand
// itself, nothing is built and the operand is returned.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace unfuse::passes {

/// aten.reshape.default; `sizes` explicit, of the same element count.
Value* reshape(Builder& builder, Value* value, const std::vector<Dim>& sizes);
/// aten.permute.default; result dimension i is dimension `order[i]` of the value.
Value* permute(Builder& builder, Value* value, const std::vector<std::int64_t>& order);
/// aten.permute.default that swaps two dimensions; negative ones count from the end.
Value* transpose(Builder& builder, Value* value, std::int64_t first, std::int64_t second);
/// aten.expand.default to explicit sizes.
Value* expand(Builder& builder, Value* value, const std::vector<Dim>& sizes);
/// aten.slice.Tensor with 0 <= start <= end <= size.
Value* slice(Builder& builder, Value* value, std::int64_t dimension, const Dim& start,
             const Dim& end, const Dim& step = 1);
/// aten.select.int with 0 <= index < size.
Value* select(Builder& builder, Value* value, std::int64_t dimension, const Dim& index);
/// aten.cat.default.
Value* cat(Builder& builder, const std::vector<Value*>& values, std::int64_t dimension);
/// aten._to_copy.default.
Value* convert(Builder& builder, Value* value, DType dtype);
/// aten.full.default; `fill` is an int, a float or a bool.
Value* full(Builder& builder, const std::vector<Dim>& sizes, Argument fill, DType dtype);
/// Any other op of the catalogue with one result.
Value* call(Builder& builder, std::string_view op, Arguments positional,
            const std::vector<KeywordArgument>& keywords = {});

/// A dimension as a number from 0; `rank` 0 counts as 1, as in PyTorch.
std::int64_t wrap_dimension(std::int64_t dimension, std::int64_t rank);
/// `value` with a dimension of size 1 put in at `dimension`.
Value* unsqueeze(Builder& builder, Value* value, std::int64_t dimension);
/// The identity order with two dimensions swapped.
std::vector<std::int64_t> swapped_order(std::int64_t rank, std::int64_t first, std::int64_t second);
bool is_identity_order(const std::vector<std::int64_t>& order);
/// All dimensions of a tensor of this rank, ascending.
std::vector<std::int64_t> all_dimensions(std::int64_t rank);

}  // namespace unfuse::passes
