// Where the time of runs goes: every kernel call, in a table and as a trace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace unfuse {

/// What the machine can do at most.
struct MachineLimits {
  double flops_per_second = 0;  ///< float32 multiply-adds in registers, two FLOPs each
  /// The same in products of bfloat16, summed in float32; 0 where the machine has none.
  double bfloat16_flops_per_second = 0;
  double bytes_per_second = 0;  ///< read from memory, not from caches
};

/// Measures the limits of `threads` threads, in about a fifth of a second; 0 takes OMP_NUM_THREADS,
/// or all cores.
MachineLimits measure_machine_limits(int threads = 0);

enum class ProfileBy {
  kOp,    ///< a row for each op
  kNode,  ///< a row for each place in the model, in the order in which they ran first
};

/// The calls of one op, or of one node, in all runs together.
struct ProfileRow {
  std::string op;    ///< "aten.linear.default"; joined by " + " where one call computes several
  std::string node;  ///< "linear_3", the first result's name; empty by op
  std::string module_path;  ///< "encoder.layers.0"; empty by op, or when unknown
  std::string source;       ///< "model.py:41"; the same
  std::int64_t calls = 0;
  double seconds = 0;
  double flops = 0;           ///< of matrix products, convolutions and attention
  double bfloat16_flops = 0;  ///< of these, in products of bfloat16
  double bytes = 0;           ///< read and written; what is read twice counts once
};

/// What was recorded. Cheap to copy.
class Profile {
 public:
  /// Runs of compiled models; parts of a model that were left to torch are no runs.
  std::int64_t runs() const;
  /// All of them together, what lies between the calls included.
  double seconds() const;
  const MachineLimits& limits() const;

  /// By op, those that take longest first.
  std::vector<ProfileRow> rows(ProfileBy by) const;

  /// rows() for people: milliseconds a run, the share of all time, GFLOP/s and GB/s, and the share
  /// of the machine's limit, that of arithmetic or of memory, whichever is nearer. Data in caches
  /// may move faster than memory allows.
  std::string table(ProfileBy by = ProfileBy::kOp) const;

  /// Writes what happened when, a slice for each call and each thread's part in it, as Chrome trace
  /// events: ui.perfetto.dev shows them. The file appears whole, at the end. Throws Error
  /// (kInvalidArgument) when it cannot be written.
  void save_trace(const std::string& path) const;

  class Recording;
  explicit Profile(std::shared_ptr<const Recording> recording);

 private:
  std::shared_ptr<const Recording> recording_;
};

/// Records every run of every program in this process, on any thread, while it lives.
class Profiler {
 public:
  /// Measures the machine's limits first; `threads` as there. Throws Error (kInvalidArgument) when
  /// another profiler is recording.
  explicit Profiler(int threads = 0);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Stops recording. Runs that have not ended are left out.
  Profile stop();

 private:
  std::shared_ptr<Profile::Recording> recording_;
};

}  // namespace unfuse
