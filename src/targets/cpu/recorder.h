// Recording what runs do, for profiles.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "targets/cpu/parallel.h"
#include "targets/cpu/plan.h"
#include "targets/cpu/workspace.h"

namespace unfuse::cpu {

/// A kernel call of a plan, or an op that somebody else runs.
struct RecordedStep {
  std::string op;
  std::string node;
  std::string module_path;
  std::string source;
  double flops = 0;
  double bfloat16_flops = 0;  ///< of these, in products of bfloat16
  double bytes = 0;
};

/// What a thread did.
struct RecordedSlice {
  int step = 0;          ///< index of a RecordedStep; -1 for a whole run
  int caller = 0;        ///< counts the threads that ran models
  int thread = 0;        ///< of those that the caller used, itself the first
  bool is_part = false;  ///< one thread's part of a step, which has a slice of its own too
  Clock::time_point begin;
  Clock::time_point end;
};

/// When a run and its steps happened.
struct RunTimes {
  struct Part {
    int step = 0;
    int thread = 0;
    TimeSpan time;
  };
  Clock::time_point begin;
  Clock::time_point end;
  std::vector<TimeSpan> steps;
  std::vector<Part> parts;
};

/// Collects steps and slices. May be called from many threads at once.
class Recorder {
 public:
  /// The one that records; null when nobody does, which costs one load to find out.
  static std::shared_ptr<Recorder> active() {
    return is_active_.load(std::memory_order_relaxed) ? find_active() : nullptr;
  }
  /// Throws Error (kInvalidArgument) when there is an active one already.
  static void activate(std::shared_ptr<Recorder> recorder);
  static void deactivate();

  /// `packed` are the preparation's packed constants.
  void add_run(const Plan& plan, const std::vector<PackedPtr>& packed, const RunTimes& times);
  /// An op that does not run here.
  void add_step(RecordedStep step, TimeSpan time);
  /// From now on nothing is added any more, and what follows may be read.
  void close();

  const std::vector<RecordedStep>& steps() const { return steps_; }
  const std::vector<RecordedSlice>& slices() const { return slices_; }

 private:
  static std::shared_ptr<Recorder> find_active();
  int steps_of(const Plan& plan, const std::vector<PackedPtr>& packed);
  int caller();

  static inline std::atomic<bool> is_active_ = false;

  std::mutex mutex_;
  bool is_closed_ = false;
  std::vector<RecordedStep> steps_;
  std::vector<RecordedSlice> slices_;
  std::map<std::uint64_t, int> first_step_of_;                 ///< by Plan::id
  std::map<std::pair<std::string, std::string>, int> others_;  ///< by op and place
  std::vector<std::thread::id> callers_;
};

/// Measures a run that the thread which makes this does while it lives.
class RunRecorder final : public StepObserver, private PartObserver {
 public:
  explicit RunRecorder(const Plan& plan);
  void begin_step(int step) override;
  void end_step(int step) override;
  const RunTimes& finish();

 private:
  void part(int thread, TimeSpan time) override;

  std::mutex mutex_;
  RunTimes times_;
  int step_ = 0;
  ScopedPartObserver observing_;
};

}  // namespace unfuse::cpu
