// Which nodes compute packed rows, and where their number is.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace unfuse::cpu {

/// The leading dimensions of a node's results are `rows` rows, of which just the first are filled:
/// as many as the last of `offsets` says.
struct PackedRowCount {
  const Value* offsets = nullptr;
  Dim rows;
};

using PackedRowCounts = std::unordered_map<const Node*, PackedRowCount>;

/// Of all nodes between unfuse.pack_rows and unfuse.unpack_rows whose results have their rows in
/// front. Others there compute all rows, filled or not.
PackedRowCounts packed_row_counts(const Graph& graph);

}  // namespace unfuse::cpu
