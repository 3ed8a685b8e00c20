// Operands and the timing loop of kernel benchmarks.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
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

/// Times run(i) for i = 0, 1, 2, ...; `flops` and `bytes` are those of one run. Between runs, now
/// and then, the machine's own limits are measured. The share of the arithmetic limit is a median
/// over such intervals: the best run of each, compared with the limit just before and after, so
/// that a machine which slows down meets both alike, and one that does something else meets
/// neither.
void time_runs(benchmark::State& state, const std::function<void(std::size_t)>& run, double flops,
               double bytes);

/// Times kernel.run on one list of operands, or on several in turn, so that no cache holds them.
void time_kernel(benchmark::State& state, const Kernel& kernel,
                 const std::vector<std::vector<void*>>& operands, double flops, double bytes);
inline void time_kernel(benchmark::State& state, const Kernel& kernel,
                        const std::vector<void*>& operands, double flops, double bytes) {
  time_kernel(state, kernel, std::vector<std::vector<void*>>{operands}, flops, bytes);
}

}  // namespace unfuse::cpu::bench
