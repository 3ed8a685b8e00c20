// Pointwise nodes as one program.
#pragma once

#include "ir/graph.h"
#include "targets/cpu/fusion/pointwise_groups.h"
#include "targets/cpu/lowering/context.h"

namespace unfuse::cpu {

/// Whether the node can be part of a program with others: pointwise ops, and conversions.
bool can_be_grouped(const Node& node);

/// Whether its result may stay in a register: whoever reads that finds what would have been in
/// memory.
bool can_be_inlined(const Node& node);

/// Lowers a group of several nodes.
void lower_pointwise_group(const NodeGroup& group, LoweringContext& context);

}  // namespace unfuse::cpu
