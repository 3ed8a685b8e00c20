// Graphs from text, in the form that print() writes, so that a test shows its graph as it is.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace unfuse::testing {

/// One statement a line; blank lines and what follows a '#' are skipped.
///
///   symbol s0 in [2, 64]
///   input user %x: f32[2, s0] strides [1, 2] from name
///   input literal flag = True
///   %y = aten.add.Tensor(%x, %x, alpha=2)
///   %z: f32[2, 4], %w: f32[2, 4] = aten.split.Tensor(%y, 4, 1)
///   output user %z
///   output buffer mutation %w to running_mean
///
/// Types of results may be left out where the op has a result-type rule. An op that the catalogue
/// lacks becomes an opaque node whose results must have types. Throws std::runtime_error with the
/// line.
Graph parse_graph(std::string_view text);

}  // namespace unfuse::testing
