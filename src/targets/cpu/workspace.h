// Working memory of runs, and running a plan's steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "targets/cpu/plan.h"

namespace unfuse::cpu {

/// What one run writes besides its outputs.
class Workspace {
 public:
  /// Makes room for a plan; what was in the arena is lost when it grows.
  void reserve(const Plan& plan);
  std::byte* arena() const { return arena_.get(); }
  std::span<void*> operands() { return operands_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> arena_;
  std::int64_t arena_bytes_ = 0;
  std::vector<void*> operands_;
};

/// Workspaces that no run uses at the moment. One is made when there is none.
class WorkspacePool {
 public:
  /// Returns the workspace to the pool when it goes out of scope.
  class Lease {
   public:
    explicit Lease(WorkspacePool& pool);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Workspace& operator*() const { return *workspace_; }

   private:
    WorkspacePool& pool_;
    std::unique_ptr<Workspace> workspace_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

/// Base addresses of every place but the arena; an index of a Location counts into these.
struct Addresses {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  std::span<void* const> prepared;
  std::span<void* const> packed;
};

/// Is told of a run's steps as they begin and end.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void begin_step(int step) = 0;
  virtual void end_step(int step) = 0;
};

/// Runs all steps in order. `observer` may be null.
void run_plan(const Plan& plan, const Addresses& addresses, Workspace& workspace,
              StepObserver* observer = nullptr);

/// For tests: from now on, every run fills arena memory that holds nothing alive with bytes that
/// read as NaN, before its first step and after each.
void set_arena_poisoning(bool enabled);

}  // namespace unfuse::cpu
