// The planner: lowers nodes for concrete sizes and gives every buffer its place.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "targets/cpu/fusion/packed_row_counts.h"
#include "targets/cpu/fusion/pointwise_groups.h"
#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/plan.h"

namespace unfuse::cpu {

/// A value that exists before the first step.
struct PlanSource {
  const Value* value = nullptr;
  Place place = Place::kInput;
  int index = 0;
  OperandSpec spec;
};

/// A value that must be in output memory after the last step; its index there is its position.
struct PlanDestination {
  const Value* value = nullptr;
  OperandSpec spec;
};

struct PlanRequest {
  std::vector<NodeGroup> groups;  ///< in the order to run them in
  std::vector<PlanSource> sources;
  std::vector<PlanDestination> destinations;
  /// Index of the packed constant that a node's kernel takes.
  std::unordered_map<const Node*, int> packed;
  const PackedRowCounts* row_counts = nullptr;  ///< null: none
  SymbolValues symbols;
  int threads = 1;
};

/// Part of a source, in place of a destination that need not be written.
struct SourceWindow {
  int source_index = 0;  ///< PlanSource::index
  std::int64_t byte_offset = 0;
  OperandSpec spec;
};

/// A destination that is only a view of a source with Place::kInput is left unwritten and described
/// in `windows` (one entry a destination) when that is given; copied otherwise.
std::unique_ptr<Plan> make_plan(const PlanRequest& request,
                                std::vector<std::optional<SourceWindow>>* windows = nullptr);

}  // namespace unfuse::cpu
