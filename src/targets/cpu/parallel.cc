#include "targets/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "targets/cpu/rounding.h"

#ifdef UNFUSE_PARALLEL_THREADS
#include <thread>
#include <vector>
#else
#include <omp.h>
#include <pthread.h>
#endif

namespace unfuse::cpu {
namespace {

/// -1 outside of parallel_for.
thread_local int current_index = -1;
thread_local PartObserver* current_observer = nullptr;

class ScopedIndex {
 public:
  explicit ScopedIndex(int index) : previous_(current_index) { current_index = index; }
  ~ScopedIndex() { current_index = previous_; }
  ScopedIndex(const ScopedIndex&) = delete;
  ScopedIndex& operator=(const ScopedIndex&) = delete;

 private:
  int previous_;
};

/// Keeps the first exception of a region: none may leave an OpenMP region or a std::thread.
class FirstException {
 public:
  void keep() {
    const std::lock_guard lock(mutex_);
    if (!held_) held_ = std::current_exception();
  }
  void rethrow() const {
    if (held_) std::rethrow_exception(held_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr held_;
};

/// What a thread of a region does, given its index and the number of threads.
class Part {
 public:
  template <typename Function>
  explicit Part(const Function& function) : function_(&function), call_(&call<Function>) {}
  void operator()(int index, int parts) const { call_(function_, index, parts); }

 private:
  template <typename Function>
  static void call(const void* function, int index, int parts) {
    (*static_cast<const Function*>(function))(index, parts);
  }

  const void* function_;
  void (*call_)(const void*, int, int);
};

/// What the threads of a region share.
struct Region {
  Part part;
  PartObserver* observer = current_observer;
  FirstException exception;
};

void run_part(int index, int parts, Region& region) {
  const ScopedIndex scoped(index);
  try {
    if (region.observer == nullptr) return region.part(index, parts);
    const Clock::time_point begin = Clock::now();
    region.part(index, parts);
    region.observer->part(index, {begin, Clock::now()});
  } catch (...) {
    region.exception.keep();
  }
}

#ifdef UNFUSE_PARALLEL_THREADS

// For ThreadSanitizer, which does not understand libgomp: threads that come and go. They are joined
// when one cannot be made, too.
void run_parts(int parts, Region& region) {
  std::vector<std::jthread> others;
  others.reserve(static_cast<std::size_t>(parts - 1));
  for (int index = 1; index < parts; ++index) {
    others.emplace_back([&, index] { run_part(index, parts, region); });
  }
  run_part(0, parts, region);
}

constexpr bool threads_are_lost = false;

int available_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

#else

/// True for the thread that a forked process begins with, where threads had run before the fork:
/// OpenMP would wait for the ones it kept, which a fork does not copy, and never go on.
thread_local bool threads_are_lost = false;

void lose_threads() {
  threads_are_lost = true;
  omp_set_num_threads(1);  // for oneDNN
}

void watch_for_forks() {
  static const int watched = pthread_atfork(nullptr, nullptr, lose_threads);
  (void)watched;
}

void run_parts(int parts, Region& region) {
  watch_for_forks();
#pragma omp parallel num_threads(parts)
  {
    // The runtime may give fewer threads than asked for.
    run_part(omp_get_thread_num(), omp_get_num_threads(), region);
  }
}

int available_threads() { return std::max(1, omp_get_num_procs()); }

#endif

/// Threads that are worth it; 1 to run in place.
int threads_for(std::int64_t grains, int threads) {
  if (current_index >= 0) return 1;
  return static_cast<int>(std::min<std::int64_t>(usable_threads(threads), grains));
}

/// Calls body in place, or share(grains, index, parts) on each thread: it calls body on the grains
/// that are the thread's.
template <typename Share>
void run_region(int threads, std::int64_t count, std::int64_t grain, RangeBody body,
                const Share& share) {
  if (count <= 0) return;
  const std::int64_t grains = divide_up(count, grain);
  const int parts = threads_for(grains, threads);
  if (parts <= 1) {
    const ScopedIndex scoped(0);
    return body(0, count);
  }
  const auto of_thread = [&](int index, int given) { share(grains, index, given); };
  Region region{.part = Part(of_thread)};
  run_parts(parts, region);
  region.exception.rethrow();
}

}  // namespace

void parallel_for(int threads, std::int64_t count, std::int64_t grain, RangeBody body) {
  grain = std::max<std::int64_t>(grain, 1);
  const auto nearly_equal = [&](std::int64_t grains, int index, int parts) {
    const std::int64_t begin = grains * index / parts * grain;
    const std::int64_t end = std::min(count, grains * (index + 1) / parts * grain);
    if (begin < end) body(begin, end);
  };
  run_region(threads, count, grain, body, nearly_equal);
}

void parallel_for_dynamic(int threads, std::int64_t count, std::int64_t grain, RangeBody body) {
  grain = std::max<std::int64_t>(grain, 1);
  std::atomic<std::int64_t> next{0};
  const auto as_they_come = [&](std::int64_t grains, int, int) {
    for (;;) {
      const std::int64_t taken = next.fetch_add(1, std::memory_order_relaxed);
      if (taken >= grains) return;
      body(taken * grain, std::min(count, (taken + 1) * grain));
    }
  };
  run_region(threads, count, grain, body, as_they_come);
}

ScopedPartObserver::ScopedPartObserver(PartObserver& observer) : previous_(current_observer) {
  current_observer = &observer;
}

ScopedPartObserver::~ScopedPartObserver() { current_observer = previous_; }

int default_threads() {
  // OMP_NUM_THREADS may be a list, one number a nesting level; the first one counts.
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long threads = std::strtol(text, nullptr, 10);
    if (threads > 0) return static_cast<int>(std::min(threads, 4096L));
  }
  return available_threads();
}

int usable_threads(int wanted) { return threads_are_lost ? 1 : wanted; }

int thread_index() { return std::max(current_index, 0); }

}  // namespace unfuse::cpu
