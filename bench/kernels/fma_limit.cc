#include "fma_limit.h"

#include <atomic>
#include <chrono>
#include <cstdint>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_limit.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Enough chains to hide the latency of an FMA, few enough for the 16 registers of AVX2.
constexpr int kChains = 12;

/// `rounds` times kChains fused multiply-adds; returns their flops. The numbers converge to values
/// with random bits: zeros take less power.
double multiply_add(std::int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V factor = hn::Set(d, sink[0]);
  V sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, sink[1] * static_cast<float>(i + 1));
  const V term = hn::Set(d, sink[2]);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], factor, term);
  }
  V sum = sums[0];
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, sums[i]);
  sink[3] = hn::GetLane(hn::SumOfLanes(d, sum));
  return 2.0 * static_cast<double>(rounds * kChains * lanes);
}

}  // namespace unfuse::cpu::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu::bench {

HWY_EXPORT(multiply_add);

double fma_limit(int threads) {
  constexpr std::int64_t kRounds = 1'000'000;
  std::atomic<double> flops = 0;
  const auto start = std::chrono::steady_clock::now();
  parallel_for(threads, threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      volatile float seed[3] = {0.99f, 0.37f, 0.0073f};  // unknown to the compiler
      float sink[4] = {seed[0], seed[1], seed[2], 0};
      flops.fetch_add(HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds, sink));
      seed[0] = sink[3];
    }
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return flops.load() / seconds.count();
}

}  // namespace unfuse::cpu::bench
#endif  // HWY_ONCE
