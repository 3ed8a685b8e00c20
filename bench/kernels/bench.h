// Operands and the timing loop of kernel benchmarks.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/kernel.h"
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

/// Times kernel.run. `flops` and `bytes` are those of one run.
inline void time_kernel(benchmark::State& state, const Kernel& kernel,
                        const std::vector<void*>& operands, double flops, double bytes) {
  AlignedBuffer scratch(kernel.scratch_bytes());
  kernel.run(operands, scratch.data());
  for (auto _ : state) {
    kernel.run(operands, scratch.data());
    benchmark::ClobberMemory();
  }
  const auto rate = [&](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (flops != 0) state.counters["flop/s"] = rate(flops);
  if (bytes != 0) state.counters["byte/s"] = rate(bytes);
}

}  // namespace unfuse::cpu::bench
