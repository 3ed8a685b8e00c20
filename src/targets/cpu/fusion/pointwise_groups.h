// Which pointwise nodes run together in one pass over memory.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace unfuse::cpu {

/// Nodes that are lowered as one, at the place of the last. One node by itself, of any op, is a
/// group too. What several nodes compute has the same sizes, and only `stored` is written.
struct NodeGroup {
  std::vector<const Node*> nodes;  ///< in program order
  /// Results of several nodes that others read: nodes outside of the group, the graph's outputs,
  /// whoever asked to keep them.
  std::vector<const Value*> stored;
};

/// Cuts nodes, given in program order, into groups in the order to run them in. `kept` are values
/// that must be there afterwards though no node among these reads them.
std::vector<NodeGroup> group_pointwise(std::span<const Node* const> nodes,
                                       const std::unordered_set<const Value*>& kept);

}  // namespace unfuse::cpu
