#include "targets/cpu/recorder.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ops/flops.h"
#include "targets/cpu/lowering/products.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

/// What is active, under a lock of its own: the flag is_active_ only says whether to look.
struct Active {
  std::mutex mutex;
  std::shared_ptr<Recorder> recorder;
};

Active& active_recorder() {
  static Active active;
  return active;
}

std::vector<const Node*> nodes_of(const Step& step) {
  if (!step.group.empty()) return step.group;
  return step.node == nullptr ? std::vector<const Node*>{} : std::vector<const Node*>{step.node};
}

/// "aten.mul.Tensor + aten.add.Tensor + 3 more".
std::string names_of(const std::vector<const Node*>& nodes) {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < nodes.size() && i < kNamed; ++i) {
    names += (i == 0 ? "" : " + ") + nodes[i]->op().name;
  }
  if (nodes.size() > kNamed) names += " + " + std::to_string(nodes.size() - kNamed) + " more";
  return names;
}

/// Split products stand for those of float32, and are measured by its limit, which they may pass.
bool multiplies_bfloat16(const Node* node) {
  return packing_of(products_of(*node)) == Packing::kPairs;
}

double flops_of(const std::vector<const Node*>& nodes, const SymbolValues& symbols) {
  double sum = 0;
  for (const Node* node : nodes) sum += static_cast<double>(ops::flops(*node).evaluate(symbols));
  return sum;
}

double packed_bytes(const Step& step, const std::vector<PackedPtr>& packed) {
  double sum = 0;
  for (const Location& operand : step.operands) {
    if (operand.place != Place::kPacked) continue;
    sum += static_cast<double>(packed.at(static_cast<std::size_t>(operand.index))->bytes());
  }
  return sum;
}

/// For each node the step that does its arithmetic: the last that does more than move elements.
std::unordered_map<const Node*, const Step*> main_steps(const Plan& plan) {
  std::unordered_map<const Node*, const Step*> steps;
  for (const Step& step : plan.steps) {
    const Step*& main = steps[step.node];
    if (main == nullptr || !step.is_copy) main = &step;
  }
  return steps;
}

RecordedStep describe(const Step& step, bool is_main, const SymbolValues& symbols,
                      const std::vector<PackedPtr>& packed) {
  RecordedStep described;
  described.bytes = static_cast<double>(step.bytes) + packed_bytes(step, packed);
  const std::vector<const Node*> nodes = nodes_of(step);
  if (nodes.empty()) {
    described.op = "copy to an output";
    return described;
  }
  described.op = names_of(nodes);
  if (!is_main && step.is_copy) described.op += ", copy";
  const Node& last = *nodes.back();
  if (!last.results().empty()) described.node = last.result()->name();
  described.module_path = last.origin().module_path;
  described.source = last.origin().source;
  if (is_main) described.flops = flops_of(nodes, symbols);
  // Whatever stands beside them in a step has no FLOPs that count.
  if (std::any_of(nodes.begin(), nodes.end(), multiplies_bfloat16)) {
    described.bfloat16_flops = described.flops;
  }
  return described;
}

}  // namespace

std::shared_ptr<Recorder> Recorder::find_active() {
  Active& active = active_recorder();
  const std::lock_guard<std::mutex> lock(active.mutex);
  return active.recorder;
}

void Recorder::activate(std::shared_ptr<Recorder> recorder) {
  Active& active = active_recorder();
  const std::lock_guard<std::mutex> lock(active.mutex);
  if (active.recorder != nullptr) {
    throw Error(ErrorKind::kInvalidArgument, "a profile is being recorded already", "",
                "end that one first: a process records one at a time");
  }
  active.recorder = std::move(recorder);
  is_active_.store(true, std::memory_order_relaxed);
}

void Recorder::deactivate() {
  Active& active = active_recorder();
  const std::lock_guard<std::mutex> lock(active.mutex);
  is_active_.store(false, std::memory_order_relaxed);
  active.recorder = nullptr;
}

void Recorder::add_run(const Plan& plan, const std::vector<PackedPtr>& packed,
                       const RunTimes& times) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_closed_) return;
  const int first = steps_of(plan, packed);
  const int called_by = caller();
  slices_.push_back({-1, called_by, 0, false, times.begin, times.end});
  for (std::size_t i = 0; i < times.steps.size(); ++i) {
    slices_.push_back({first + static_cast<int>(i), called_by, 0, false, times.steps[i].begin,
                       times.steps[i].end});
  }
  for (const RunTimes::Part& part : times.parts) {
    slices_.push_back(
        {first + part.step, called_by, part.thread, true, part.time.begin, part.time.end});
  }
}

void Recorder::add_step(RecordedStep step, TimeSpan time) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_closed_) return;
  const auto [found, is_new] = others_.emplace(std::pair(step.op, step.module_path + step.source),
                                               static_cast<int>(steps_.size()));
  if (is_new) steps_.push_back(std::move(step));
  slices_.push_back({found->second, caller(), 0, false, time.begin, time.end});
}

void Recorder::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
}

/// The index of the first of the plan's steps, which are told once.
int Recorder::steps_of(const Plan& plan, const std::vector<PackedPtr>& packed) {
  const auto [found, is_new] = first_step_of_.emplace(plan.id, static_cast<int>(steps_.size()));
  if (!is_new) return found->second;
  const auto main = main_steps(plan);
  for (const Step& step : plan.steps) {
    steps_.push_back(describe(step, main.at(step.node) == &step, plan.symbols, packed));
  }
  return found->second;
}

int Recorder::caller() {
  const auto self = std::this_thread::get_id();
  const auto found = std::find(callers_.begin(), callers_.end(), self);
  if (found == callers_.end()) callers_.push_back(self);
  return static_cast<int>(std::find(callers_.begin(), callers_.end(), self) - callers_.begin());
}

RunRecorder::RunRecorder(const Plan& plan) : observing_(*this) {
  times_.steps.resize(plan.steps.size());
  times_.begin = Clock::now();
}

void RunRecorder::begin_step(int step) {
  step_ = step;
  times_.steps[static_cast<std::size_t>(step)].begin = Clock::now();
}

void RunRecorder::end_step(int step) {
  times_.steps[static_cast<std::size_t>(step)].end = Clock::now();
}

void RunRecorder::part(int thread, TimeSpan time) {
  const std::lock_guard<std::mutex> lock(mutex_);
  times_.parts.push_back({step_, thread, time});
}

const RunTimes& RunRecorder::finish() {
  times_.end = Clock::now();
  return times_;
}

}  // namespace unfuse::cpu
