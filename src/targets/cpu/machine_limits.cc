#include "targets/cpu/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/machine_limits.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent chains to hide the latency of a multiply-add (4 cycles on 2 to 4 units), few
// enough for the registers.
constexpr int kChains = UNFUSE_FEW_REGISTERS ? 12 : 16;

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

/// The sum of what rate(thread) gives on each thread, all at once. Each reads a clock of its own,
/// and tells its best: one that had to wait for a core, or to be started, does not count against
/// the others. A limit is what is possible, whoever else was running.
template <typename Rate>
double sum_of_rates(int threads, const Rate& rate) {
  threads = std::max(1, threads);
  std::atomic<double> total = 0;
  parallel_for(threads, threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) total.fetch_add(rate(begin));
  });
  return total;
}

double arithmetic_rate(double seconds) {
  // Long enough for the clock, short enough to fit between two interruptions.
  constexpr double kLoopSeconds = 0.0005;
  std::int64_t rounds = 5000;
  double best = 0;
  for (double spent = 0; spent < seconds;) {
    double done = 0;
    const double time = seconds_of([&] {
      float result = 0;
      done = HWY_DYNAMIC_DISPATCH(multiply_add)(rounds, &result);
      sink.store(result, std::memory_order_relaxed);
    });
    best = std::max(best, done / time);
    spent += time;
    if (time < kLoopSeconds) rounds *= 2;
  }
  return best;
}

/// Of several passes over the elements, in blocks that take a millisecond or so.
double reading_rate(const float* data, std::int64_t count) {
  constexpr int kPasses = 3;
  constexpr std::int64_t kBlock = std::int64_t{1} << 21;
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t block = std::min(kBlock, count - begin);
      const double time = seconds_of([&] {
        sink.store(HWY_DYNAMIC_DISPATCH(sum)(data + begin, block), std::memory_order_relaxed);
      });
      best = std::max(best, static_cast<double>(block) * sizeof(float) / time);
    }
  }
  return best;
}

}  // namespace

double measure_arithmetic_limit(int threads, double seconds) {
  return sum_of_rates(threads, [&](std::int64_t) { return arithmetic_rate(seconds); });
}

BandwidthMeter::BandwidthMeter(std::size_t bytes) : buffer_(bytes) {
  // Pages are there only once they are written.
  std::fill_n(reinterpret_cast<float*>(buffer_.data()), bytes / sizeof(float), 1.0f);
}

double BandwidthMeter::measure(int threads) const {
  constexpr std::int64_t kLine = 16;
  const auto* data = reinterpret_cast<const float*>(buffer_.data());
  const auto count = static_cast<std::int64_t>(buffer_.bytes() / sizeof(float));
  const std::int64_t share = round_up(count / std::max(1, threads), kLine);
  return sum_of_rates(threads, [&](std::int64_t thread) {
    const std::int64_t begin = std::min(count, thread * share);
    return reading_rate(data + begin, std::min(share, count - begin));
  });
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
