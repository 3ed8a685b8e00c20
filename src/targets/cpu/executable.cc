#include "targets/cpu/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/packed_row_counts.h"
#include "targets/cpu/input_binding.h"
#include "targets/cpu/last_plan.h"
#include "targets/cpu/layout.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/plan.h"
#include "targets/cpu/plan_cache.h"
#include "targets/cpu/preparation.h"
#include "targets/cpu/recorder.h"
#include "targets/cpu/target.h"
#include "targets/cpu/workspace.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

constexpr std::size_t kCachedPlans = 64;

/// Throws Error (kUnsupported) naming every node that the target does not take.
void refuse_unsupported(const Graph& graph) {
  const CpuTarget target;
  std::string refused;
  int count = 0;
  for (const Node* node : graph.nodes()) {
    const std::optional<std::string> reason = target.refusal(*node);
    if (!reason) continue;
    ++count;
    refused += fmt::format("{}{}: {}", refused.empty() ? "" : "; ", node->where(), *reason);
  }
  if (count == 0) return;
  throw Error(ErrorKind::kUnsupported, fmt::format("{} nodes cannot run on the CPU target", count),
              refused);
}

Sizes canonical_strides_of(const InputValue& input) {
  return canonical_strides({input.sizes().begin(), input.sizes().end()},
                           {input.strides().begin(), input.strides().end()});
}

}  // namespace

struct Executable::Implementation {
  Implementation(Graph compiled, int thread_count)
      : graph(std::move(compiled)),
        threads(thread_count),
        binding(graph),
        preparation(graph, threads),
        row_counts(packed_row_counts(graph)),
        plans(kCachedPlans) {}

  std::unique_ptr<const Plan> build(std::span<const InputValue> inputs, SymbolValues symbols,
                                    int run_threads) const;

  Graph graph;
  int threads;
  InputBinding binding;
  PreparationGraph preparation;
  PackedRowCounts row_counts;
  mutable PlanCache plans;
  mutable LastPlan last;
  mutable WorkspacePool workspaces;
};

std::unique_ptr<const Plan> Executable::Implementation::build(std::span<const InputValue> inputs,
                                                              SymbolValues symbols,
                                                              int run_threads) const {
  PlanRequest request;
  request.groups = preparation.run_groups();
  request.sources = preparation.sources();
  request.packed = preparation.packed();
  request.row_counts = &row_counts;
  request.symbols = std::move(symbols);
  request.threads = run_threads;
  int index = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind != InputKind::kUser) continue;
    const InputValue& given = inputs[static_cast<std::size_t>(index)];
    if (given.is_tensor()) {
      Sizes sizes(given.sizes().begin(), given.sizes().end());
      Sizes strides = canonical_strides_of(given);
      const OperandSpec spec{given.dtype(), std::move(sizes), std::move(strides)};
      request.sources.push_back({input.value, Place::kInput, index, spec});
    }
    ++index;
  }
  const auto evaluate = [&](const std::vector<Dim>& dims) {
    Sizes sizes;
    for (const Dim& dim : dims) sizes.push_back(dim.evaluate(request.symbols));
    return sizes;
  };
  for (const GraphOutput& output : graph.outputs()) {
    if (!output.value.is_value() || !output.value.value()->is_tensor()) continue;
    const TensorType& type = output.value.value()->tensor();
    request.destinations.push_back(
        {output.value.value(),
         dense_or_contiguous(type.dtype, evaluate(type.sizes), evaluate(type.strides))});
  }
  return make_plan(request);
}

Executable::Executable(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Executable::~Executable() = default;

std::shared_ptr<const Executable> Executable::compile(Graph graph, const CompileOptions& options,
                                                      std::vector<std::string>* notes) {
  refuse_unsupported(graph);
  const int threads = options.threads > 0 ? options.threads : default_threads();
  const std::vector<std::string> told = run_fusion_pipeline(graph, options);
  if (notes != nullptr) notes->insert(notes->end(), told.begin(), told.end());
  auto implementation = std::make_unique<Implementation>(std::move(graph), threads);
  return std::shared_ptr<const Executable>(new Executable(std::move(implementation)));
}

const std::vector<GraphInput>& Executable::inputs() const {
  return implementation_->graph.inputs();
}

std::shared_ptr<const Preparation> Executable::prepare(std::span<const Tensor> parameters) const {
  return implementation_->preparation.prepare(parameters);
}

std::shared_ptr<const Plan> Executable::plan(std::span<const InputValue> inputs,
                                             int threads) const {
  const int run_threads = usable_threads(threads > 0 ? threads : implementation_->threads);
  if (auto last = implementation_->last.find(inputs, run_threads)) return last;
  SymbolValues symbols = implementation_->binding.bind(inputs);
  PlanCache::Key key;
  key.push_back(run_threads);
  for (const auto& [name, value] : symbols) key.push_back(value);
  for (const InputValue& input : inputs) {
    if (!input.is_tensor()) continue;
    const Sizes strides = canonical_strides_of(input);
    key.insert(key.end(), strides.begin(), strides.end());
  }
  PlanCache::PlanPtr plan = implementation_->plans.find_or_build(key, [&]() -> PlanCache::PlanPtr {
    return implementation_->build(inputs, std::move(symbols), run_threads);
  });
  implementation_->last.keep(inputs, run_threads, plan);
  return plan;
}

const std::vector<ConcreteType>& Executable::output_types(const Plan& plan) { return plan.outputs; }

std::int64_t Executable::arena_bytes(const Plan& plan) { return plan.arena_bytes; }

std::vector<std::string> Executable::step_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    std::string name = step.node == nullptr ? "output" : step.node->op().name;
    if (!step.group.empty()) name.clear();
    for (const Node* node : step.group) name += (name.empty() ? "" : " + ") + node->op().name;
    names.push_back(name + (step.is_copy ? " (copy)" : ""));
  }
  return names;
}

void Executable::run(const Plan& plan, const Preparation& preparation,
                     std::span<void* const> inputs, std::span<void* const> outputs) const {
  const WorkspacePool::Lease workspace(implementation_->workspaces);
  const Addresses addresses{inputs, outputs, preparation.tensors, preparation.packed};
  const std::shared_ptr<Recorder> recorder = Recorder::active();
  if (recorder == nullptr) return run_plan(plan, addresses, *workspace);
  RunRecorder run(plan);
  run_plan(plan, addresses, *workspace, &run);
  recorder->add_run(plan, preparation.kept_packed, run.finish());
}

}  // namespace unfuse::cpu
