// Operands and the timing loop of kernel benchmarks.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/machine_limits.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu::bench {

/// Contiguous float32 with random elements: zeros would flatter (multiplying them takes less
/// power).
class Random {
 public:
  explicit Random(const Sizes& sizes)
      : spec_(OperandSpec::contiguous(DType::kFloat32, sizes)),
        buffer_(static_cast<std::size_t>(spec_.numel()) * sizeof(float) + 64) {
    static std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    auto* elements = reinterpret_cast<float*>(buffer_.data());
    for (std::int64_t i = 0; i < spec_.numel(); ++i) elements[i] = uniform(random);
  }
  const OperandSpec& spec() const { return spec_; }
  void* data() { return buffer_.data(); }

 private:
  OperandSpec spec_;
  AlignedBuffer buffer_;
};

inline int threads() { return default_threads(); }

/// Short: it is measured often.
inline double fma_limit() { return measure_arithmetic_limit(threads(), 0.004); }

/// Times kernel.run. `flops` and `bytes` are those of one run. Between runs, now and then, the
/// machine's own limit is measured; the share of it is a median over such intervals, each compared
/// with the limit just before and after, so that a machine which slows down meets both alike.
inline void time_kernel(benchmark::State& state, const Kernel& kernel,
                        const std::vector<void*>& operands, double flops, double bytes) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr double kSecondsBetweenLimits = 0.02;
  AlignedBuffer scratch(kernel.scratch_bytes());
  kernel.run(operands, scratch.data());
  std::vector<double> shares;
  double limit = flops == 0 ? 0 : fma_limit();
  double since_limit = 0;
  double runs_since_limit = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    kernel.run(operands, scratch.data());
    benchmark::ClobberMemory();
    const double seconds = Seconds(Clock::now() - start).count();
    state.SetIterationTime(seconds);
    since_limit += seconds;
    ++runs_since_limit;
    if (flops == 0 || since_limit < kSecondsBetweenLimits) continue;
    const double before = std::exchange(limit, fma_limit());
    shares.push_back(flops * runs_since_limit / since_limit / ((before + limit) / 2));
    since_limit = runs_since_limit = 0;
  }
  const auto rate = [&](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (flops != 0) state.counters["flop/s"] = rate(flops);
  if (bytes != 0) state.counters["byte/s"] = rate(bytes);
  if (shares.empty()) return;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  state.counters["share"] = *middle;
}

}  // namespace unfuse::cpu::bench
