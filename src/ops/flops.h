// How much arithmetic an op takes.
#pragma once

#include "ir/graph.h"

namespace unfuse::ops {

/// Floating-point operations of a node: a multiplication and an addition for each term of the sums
/// that matrix products, convolutions and attention are made of. Masked scores count as all others.
/// Everything else is 0: it is bound by memory, not by arithmetic.
Dim flops(const Node& node);

/// The sum over all nodes.
Dim flops(const Graph& graph);

}  // namespace unfuse::ops
