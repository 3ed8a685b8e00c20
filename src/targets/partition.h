// Cutting a graph into maximal convex pieces that a target takes, and the rest.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "targets/target.h"
#include "unfuse/report.h"

namespace unfuse {

/// One step of the partitioned program. Steps run in order; values flow through slots, which are
/// numbered over the whole program: graph inputs first, in order (literals take a slot too).
struct Piece {
  bool on_target = false;
  /// on_target: the piece as a graph of its own. Parameters, buffers and constants that it uses are
  /// inputs of the same kind here, user inputs and values of other pieces are kUser.
  Graph graph;
  /// Else: one node of the original graph, which outlives the piece.
  const Node* node = nullptr;
  /// Slots of the piece's inputs in the order of graph.inputs(), or of the node's operands().
  std::vector<int> input_slots;
  /// Slots of its outputs, or of the node's results.
  std::vector<int> output_slots;
};

struct PartitionedGraph {
  std::vector<Piece> pieces;
  /// The slot of each output of the whole graph that is a value; -1 for constants.
  std::vector<int> output_slots;
  int slot_count = 0;
};

/// First gives ops that the target does not have their core form, as far as there is one.
/// `graph` must outlive the result and stay as it is then. The report's `partitions` and
/// `left_to_torch` are filled in. Nodes on one side of a cycle through the other side never share a
/// piece.
PartitionedGraph partition(Graph& graph, const Target& target, Report& report);

}  // namespace unfuse
