// The one place where threads are used.
#pragma once

#include <chrono>
#include <cstdint>

namespace unfuse::cpu {

/// Refers to something callable as void(std::int64_t begin, std::int64_t end), which must outlive
/// it. Unlike std::function it never allocates.
class RangeBody {
 public:
  template <typename Function>
  RangeBody(const Function& function)  // NOLINT(google-explicit-constructor): lambdas convert
      : function_(&function), call_(&call<Function>) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(function_, begin, end); }

 private:
  template <typename Function>
  static void call(const void* function, std::int64_t begin, std::int64_t end) {
    (*static_cast<const Function*>(function))(begin, end);
  }

  const void* function_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

/// Calls body(begin, end) on disjoint parts that together cover [0, count), on up to `threads`
/// threads, this one included. Each part but the last is a multiple of `grain` long. Runs in place
/// when one part is enough or inside another parallel_for. An exception from body is rethrown here.
void parallel_for(int threads, std::int64_t count, std::int64_t grain, RangeBody body);

/// The same for parts that differ in cost, or threads that differ in speed: threads take parts of
/// `grain` as they get done with what they have, in ascending order, until none is left. So a
/// thread may call body many times, and which of them it gets is chance; what body computes for an
/// index must not depend on that. In place, body is called once, on everything. Handing out a part
/// takes as long as a few dozen additions.
void parallel_for_dynamic(int threads, std::int64_t count, std::int64_t grain, RangeBody body);

using Clock = std::chrono::steady_clock;

struct TimeSpan {
  Clock::time_point begin;
  Clock::time_point end;
};

/// Is told what threads do, for profiles.
class PartObserver {
 public:
  virtual ~PartObserver() = default;
  /// A thread did its part of a region that has several, or all of its parts where they are handed
  /// out one by one. Called by that thread.
  virtual void part(int thread, TimeSpan time) = 0;
};

/// Tells the observer of the regions that this thread starts while this lives.
class ScopedPartObserver {
 public:
  explicit ScopedPartObserver(PartObserver& observer);
  ~ScopedPartObserver();
  ScopedPartObserver(const ScopedPartObserver&) = delete;
  ScopedPartObserver& operator=(const ScopedPartObserver&) = delete;

 private:
  PartObserver* previous_;
};

/// OMP_NUM_THREADS when set, else the cores this process may use.
int default_threads();

/// `wanted`, but 1 on the thread that a forked process begins with, when threads had run before the
/// fork: OpenMP's do not outlive it there. (A thread that is started after the fork gets its own.)
int usable_threads(int wanted);

/// Index of the calling thread within the current parallel_for, below its `threads`; 0 outside.
int thread_index();

}  // namespace unfuse::cpu
