// Views of views, by concrete sizes. None of these moves an element.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/lowering/context.h"

namespace unfuse::cpu {

/// Stride 0 where a size of 1, or a missing leading dimension, meets a larger one.
/// Throws Error (kInvalidArgument) when the sizes do not broadcast.
View broadcast(const View& view, const Sizes& sizes);

/// `dimensions[i]` is the dimension that becomes dimension i.
View permuted(const View& view, const std::vector<std::int64_t>& dimensions);

View transposed(const View& view, std::int64_t first, std::int64_t second);

/// `length` elements from `start`, `step` apart.
View sliced(const View& view, std::int64_t dimension, std::int64_t start, std::int64_t length,
            std::int64_t step = 1);

/// One position of a dimension, which goes.
View selected(const View& view, std::int64_t dimension, std::int64_t index);

/// A new dimension of size 1 in front of `dimension`.
View unsqueezed(const View& view, std::int64_t dimension);

/// A tensor of one element a channel as it stands in a tensor of this rank: along dimension 1.
View along_channels(const View& view, std::int64_t rank);

/// The same elements in row-major order under other sizes; empty when that takes a copy.
/// Throws Error (kInvalidArgument) when there are not as many.
std::optional<View> reshaped(const View& view, const Sizes& sizes);

/// A negative dimension counts from the end; a scalar has dimension 0. Throws Error
/// (kInvalidArgument) when there is no such dimension.
std::int64_t wrapped(std::int64_t dimension, std::int64_t rank);

}  // namespace unfuse::cpu
