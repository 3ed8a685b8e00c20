// Whether a value may lie in the rows of a wider matrix.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace unfuse::cpu {

/// Whether all who read this value, through views as well, take it with rows that are `row_stride`
/// elements apart without a copy that contiguous rows would not need. False for an output of the
/// graph, and for readers that are not known. Symbolic sizes are tried out with some numbers.
bool rows_may_be_apart(const Graph& graph, const Value* value, std::int64_t row_stride);

}  // namespace unfuse::cpu
