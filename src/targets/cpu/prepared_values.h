// Which values of a graph do not change from run to run.
#pragma once

#include <unordered_set>

#include "ir/graph.h"

namespace unfuse::cpu {

/// Whether an input of the graph is given once, not with each run.
bool is_constant_input(const GraphInput& input);

/// Parameters, buffers and constants, and what is computed of them alone, ahead of all runs: the
/// preparation. Random ops are none of it, nor is anything of symbolic size.
std::unordered_set<const Value*> prepared_values(const Graph& graph);

}  // namespace unfuse::cpu
