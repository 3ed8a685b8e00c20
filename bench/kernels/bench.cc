#include "bench.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "targets/cpu/machine_limits.h"

namespace unfuse::cpu::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Short: it is measured often.
double arithmetic_limit() { return measure_arithmetic_limit(threads(), 0.004); }

double read_limit() {
  static const BandwidthMeter meter;
  return meter.measure(threads());
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Best rates of runs, each as a share of the limit measured around it.
class Shares {
 public:
  void add_run(double seconds) {
    best_ = std::min(best_, seconds);
    since_limit_ += seconds;
  }
  bool is_due() const { return since_limit_ > kSecondsBetweenLimits; }
  void measure() {
    const double before = std::exchange(limit_, arithmetic_limit());
    shares_.push_back(1 / best_ / ((before + limit_) / 2));
    since_limit_ = 0;
    best_ = std::numeric_limits<double>::infinity();
  }
  bool empty() const { return shares_.empty(); }
  /// For runs of one operation each.
  double share() const { return median(shares_); }

 private:
  static constexpr double kSecondsBetweenLimits = 0.02;
  double limit_ = arithmetic_limit();
  double since_limit_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  std::vector<double> shares_;
};

}  // namespace

void time_runs(benchmark::State& state, const std::function<void(std::size_t)>& run, double flops,
               double bytes) {
  std::size_t index = 0;
  run(index++);
  Shares shares;
  double total = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    run(index++);
    benchmark::ClobberMemory();
    const double seconds = seconds_since(start);
    state.SetIterationTime(seconds);
    total += seconds;
    shares.add_run(seconds);
    if (flops != 0 && shares.is_due()) shares.measure();
  }
  const auto rate = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (flops != 0) state.counters["flop/s"] = rate(flops);
  if (flops != 0 && !shares.empty()) state.counters["share"] = flops * shares.share();
  if (bytes == 0) return;
  state.counters["byte/s"] = rate(bytes);
  state.counters["read_share"] = bytes * static_cast<double>(index - 1) / total / read_limit();
}

void time_kernel(benchmark::State& state, const Kernel& kernel,
                 const std::vector<std::vector<void*>>& operands, double flops, double bytes) {
  AlignedBuffer scratch(kernel.scratch_bytes());
  time_runs(
      state,
      [&](std::size_t index) { kernel.run(operands[index % operands.size()], scratch.data()); },
      flops, bytes);
}

}  // namespace unfuse::cpu::bench
