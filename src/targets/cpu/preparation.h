// What is computed once for a set of parameters: the preparation graph and its results.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "targets/cpu/executable.h"
#include "targets/cpu/lowering/table.h"
#include "targets/cpu/planner.h"

namespace unfuse::cpu {

class Preparation {
 public:
  std::vector<void*> tensors;  ///< addresses by PlanSource::index with Place::kPrepared
  std::vector<void*> packed;   ///< addresses of Packed objects
  std::vector<Tensor> kept_tensors;
  std::vector<PackedPtr> kept_packed;
};

/// Splits a graph into what depends on parameters, buffers and constants alone, and what runs each
/// time. Plans the former once; sizes there are constant. Immutable.
class PreparationGraph {
 public:
  /// `graph` outlives this and stays as it is.
  PreparationGraph(const Graph& graph, int threads);

  /// The nodes that run each time, in the order to run them in.
  const std::vector<NodeGroup>& run_groups() const { return run_groups_; }
  /// The prepared tensors that those nodes and the graph's outputs use.
  const std::vector<PlanSource>& sources() const { return sources_; }
  const std::unordered_map<const Node*, int>& packed() const { return packed_of_node_; }

  /// See Executable::prepare.
  std::shared_ptr<const Preparation> prepare(std::span<const Tensor> parameters) const;

 private:
  struct Constant {
    const GraphInput* input = nullptr;
    OperandSpec spec;  ///< the layout that the plan expects
  };
  /// Packs one of needed_, or several put together along the first dimension.
  struct PackJob {
    std::vector<int> destinations;
    PackRequest request;
  };

  void find_run_nodes();
  bool is_prepared(const Value* value) const { return prepared_.contains(value); }
  void find_needed();
  int need(const Value* value);
  void request_pack(const Node& node, const LoweringRow& row,
                    std::unordered_set<const Value*>& replaced);
  void make_preparation_plan();
  std::vector<Tensor> constants_in_layout(std::span<const Tensor> parameters) const;

  const Graph* graph_;
  int threads_;
  std::unordered_set<const Value*> prepared_;
  std::vector<Constant> constants_;
  std::vector<const Node*> run_nodes_;  ///< in program order
  std::vector<NodeGroup> run_groups_;
  std::vector<PlanSource> sources_;
  std::unordered_map<const Node*, int> packed_of_node_;
  std::vector<PackJob> pack_jobs_;
  std::vector<const Value*> needed_;                  ///< destinations of the preparation plan
  std::vector<bool> kept_;                            ///< parallel: used unpacked
  std::vector<std::optional<SourceWindow>> windows_;  ///< parallel: views of constants
  std::unique_ptr<Plan> plan_;
};

}  // namespace unfuse::cpu
