#include "targets/cpu/workspace.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <new>

#include "targets/cpu/arena.h"
#include "unfuse/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace unfuse::cpu {
namespace {

std::atomic<bool> poisoning{false};

void poison(std::byte* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, 0xFF, static_cast<std::size_t>(bytes));
}

void poison_released(const Plan& plan, int step, std::byte* arena) {
  for (const ArenaInterval& interval : plan.intervals) {
    if (interval.last == step) poison(arena + interval.offset, interval.bytes);
  }
}

/// Under the address sanitizer: a step may touch what is alive during it, and nothing else of the
/// arena, which to the sanitizer is one piece of memory.
class ArenaFence {
 public:
#ifdef __SANITIZE_ADDRESS__
  ArenaFence(const Plan& plan, std::byte* arena) : plan_(plan), arena_(arena) {}
  ~ArenaFence() { __asan_unpoison_memory_region(arena_, size(plan_.arena_bytes)); }
  void before(int step) const {
    __asan_poison_memory_region(arena_, size(plan_.arena_bytes));
    for (const ArenaInterval& interval : plan_.intervals) {
      if (interval.first > step || interval.last < step) continue;
      __asan_unpoison_memory_region(arena_ + interval.offset, size(interval.bytes));
    }
  }

 private:
  static std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

  const Plan& plan_;
  std::byte* arena_;
#else
  ArenaFence(const Plan&, std::byte*) {}
  void before(int) const {}
#endif
};

void* resolve(const Location& location, const Addresses& addresses, std::byte* arena) {
  const auto index = static_cast<std::size_t>(location.index);
  std::byte* base = nullptr;
  switch (location.place) {
    case Place::kArena:
      base = arena;
      break;
    case Place::kInput:
      base = static_cast<std::byte*>(addresses.inputs[index]);
      break;
    case Place::kOutput:
      base = static_cast<std::byte*>(addresses.outputs[index]);
      break;
    case Place::kPrepared:
      base = static_cast<std::byte*>(addresses.prepared[index]);
      break;
    case Place::kPacked:
      return addresses.packed[index];
  }
  // Empty tensors may have no memory at all; kernels do not look at them.
  return base == nullptr ? nullptr : base + location.byte_offset;
}

/// Errors tell the node: an index out of range, a division by zero.
void run_step(const Step& step, std::span<void* const> operands, std::byte* arena) {
  try {
    step.kernel->run(operands, arena + step.scratch_offset);
  } catch (const Error& error) {
    if (step.node == nullptr || !error.where().empty()) throw;
    throw Error(error.kind(), error.message(), step.node->where(), error.hint());
  }
}

}  // namespace

void Workspace::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kArenaAlignment});
}

void Workspace::reserve(const Plan& plan) {
  if (operands_.size() < plan.operand_count) operands_.resize(plan.operand_count);
  if (arena_bytes_ >= plan.arena_bytes) return;
  arena_.reset();
  arena_bytes_ = 0;
  void* memory = ::operator new (static_cast<std::size_t>(plan.arena_bytes),
                                 std::align_val_t{kArenaAlignment}, std::nothrow);
  if (memory == nullptr) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("a run with inputs of these sizes takes {:.2f} GB of working memory, "
                            "more than there is",
                            static_cast<double>(plan.arena_bytes) / 1e9));
  }
  arena_.reset(static_cast<std::byte*>(memory));
  arena_bytes_ = plan.arena_bytes;
}

WorkspacePool::Lease::Lease(WorkspacePool& pool) : pool_(pool) {
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  if (pool_.idle_.empty()) {
    workspace_ = std::make_unique<Workspace>();
    return;
  }
  workspace_ = std::move(pool_.idle_.back());
  pool_.idle_.pop_back();
}

WorkspacePool::Lease::~Lease() {
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(workspace_));
}

void run_plan(const Plan& plan, const Addresses& addresses, Workspace& workspace,
              StepObserver* observer) {
  workspace.reserve(plan);
  std::byte* arena = workspace.arena();
  const bool poisoned = poisoning.load(std::memory_order_relaxed);
  if (poisoned) poison(arena, plan.arena_bytes);
  const ArenaFence fence(plan, arena);
  int index = 0;
  for (const Step& step : plan.steps) {
    fence.before(index);
    const std::span<void*> operands = workspace.operands().first(step.operands.size());
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      operands[i] = resolve(step.operands[i], addresses, arena);
    }
    if (observer != nullptr) observer->begin_step(index);
    run_step(step, operands, arena);
    if (observer != nullptr) observer->end_step(index);
    if (poisoned) poison_released(plan, index, arena);
    ++index;
  }
}

void set_arena_poisoning(bool enabled) { poisoning.store(enabled, std::memory_order_relaxed); }

}  // namespace unfuse::cpu
