#include "targets/cpu/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/machine_limits.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent chains to hide the latency of a multiply-add (4 cycles on 2 to 4 units), few
// enough for the registers (16 with AVX2).
constexpr int kChains = HWY_TARGET == HWY_AVX2 ? 12 : 16;

/// Multiply-adds in registers; gives the FLOPs done. What is summed goes to `sink`, lest the loop
/// be optimised away.
double multiply_add(std::int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  // The sums stay near 1: zeros, infinities and denormals would take other time or power.
  const V factor = hn::Set(d, 0.875f);
  const V summand = hn::Set(d, 0.125f);
  V sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, 1.0f + 0.01f * static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], factor, summand);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  *sink = hn::GetLane(hn::SumOfLanes(d, sums[0]));
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

float sum(const float* data, std::int64_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr int kSums = 8;
  V sums[kSums];
  for (V& each : sums) each = hn::Zero(d);
  for (std::int64_t i = 0; i + kSums * lanes <= count; i += kSums * lanes) {
    for (int j = 0; j < kSums; ++j) sums[j] = hn::Add(sums[j], hn::Load(d, data + i + j * lanes));
  }
  for (int j = 1; j < kSums; ++j) sums[0] = hn::Add(sums[0], sums[j]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(multiply_add);
HWY_EXPORT(sum);

namespace {

std::atomic<float> sink;

template <typename Function>
double seconds_of(const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double multiply_adds_on(int threads, std::int64_t rounds) {
  std::atomic<double> done = 0;
  parallel_for(threads, threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float result = 0;
      done.fetch_add(HWY_DYNAMIC_DISPATCH(multiply_add)(rounds, &result));
      sink.store(result, std::memory_order_relaxed);
    }
  });
  return done;
}

}  // namespace

double measure_arithmetic_limit(int threads) {
  constexpr double kSeconds = 0.004;
  constexpr int kTries = 5;
  threads = std::max(1, threads);
  std::int64_t rounds = 1000;
  while (seconds_of([&] { multiply_adds_on(threads, rounds); }) < kSeconds) rounds *= 2;
  // The best of a few: a limit is what is possible, whoever else was running.
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    double done = 0;
    const double seconds = seconds_of([&] { done = multiply_adds_on(threads, rounds); });
    best = std::max(best, done / seconds);
  }
  return best;
}

BandwidthMeter::BandwidthMeter(std::size_t bytes) : buffer_(bytes) {
  // Pages are there only once they are written.
  std::fill_n(reinterpret_cast<float*>(buffer_.data()), bytes / sizeof(float), 1.0f);
}

double BandwidthMeter::measure(int threads) const {
  constexpr int kTries = 3;
  threads = std::max(1, threads);
  const auto* data = reinterpret_cast<const float*>(buffer_.data());
  const auto count = static_cast<std::int64_t>(buffer_.bytes() / sizeof(float));
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = seconds_of([&] {
      parallel_for(threads, count, count / threads / 4096 * 4096 + 4096,
                   [&](std::int64_t begin, std::int64_t end) {
                     sink.store(HWY_DYNAMIC_DISPATCH(sum)(data + begin, end - begin),
                                std::memory_order_relaxed);
                   });
    });
    best = std::max(best, static_cast<double>(buffer_.bytes()) / seconds);
  }
  return best;
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
