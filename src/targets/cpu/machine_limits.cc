#include "targets/cpu/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/machine_features.h"
#include "targets/cpu/kernels/tile_product.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/machine_limits.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "targets/cpu/kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent chains to hide the latency of a multiply-add (4 cycles on 2 to 4 units), few
// enough for the registers.
constexpr int kChains = UNFUSE_FEW_REGISTERS ? 12 : 16;

using V = FloatVector;

// Sums stay near 1: zeros, infinities and denormals would take other time or power.
struct Float32Round {
  static constexpr double kNumbers = 1;
  static HWY_INLINE V next(V sum) {
    const hn::ScalableTag<float> d;
    return hn::MulAdd(sum, hn::Set(d, 0.875f), hn::Set(d, 0.125f));
  }
};

#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
struct BFloat16Round {
  static constexpr double kNumbers = 2;
  static HWY_INLINE V next(V sum) {
    const hn::ScalableTag<float> d;
    const hn::RebindToUnsigned<decltype(d)> words;
    // 0.875 * 0.125 - 0.875 * 0.125
    const V left = hn::BitCast(d, hn::Set(words, 0x3F603F60u));
    const V right = hn::BitCast(d, hn::Set(words, 0xBE003E00u));
    return BFloat16Step::accumulate(left, right, sum);
  }
};
#endif

/// Multiply-adds in registers; gives the FLOPs done. What is summed goes to `sink`, lest the loop
/// be optimised away.
template <class Round>
double multiply_add(std::int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  V sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, 1.0f + 0.01f * static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = Round::next(sums[i]);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  *sink = hn::GetLane(hn::SumOfLanes(d, sums[0]));
  return 2.0 * Round::kNumbers * kChains * static_cast<double>(hn::Lanes(d)) *
         static_cast<double>(rounds);
}

using MultiplyAdd = double (*)(std::int64_t rounds, float* sink);

MultiplyAdd multiply_add_of(Products products) {
  if (products == Products::kFloat32) return multiply_add<Float32Round>;
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  if (products == Products::kBFloat16 && has_bfloat16_products()) {
    return multiply_add<BFloat16Round>;
  }
  if (products == Products::kBFloat16Tiles && has_tile_products()) {
    return [](std::int64_t rounds, float* /*sink*/) { return multiply_tiles_in_registers(rounds); };
  }
#endif
  return nullptr;
}

float sum(const float* data, std::int64_t count) {
  const hn::ScalableTag<float> d;
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

HWY_EXPORT(multiply_add_of);
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

double arithmetic_rate(double (*multiply_add)(std::int64_t, float*), double seconds) {
  // Long enough for the clock, short enough to fit between two interruptions.
  constexpr double kLoopSeconds = 0.0005;
  std::int64_t rounds = 5000;
  double best = 0;
  for (double spent = 0; spent < seconds;) {
    double done = 0;
    const double time = seconds_of([&] {
      float result = 0;
      done = multiply_add(rounds, &result);
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

double measure_arithmetic_limit(int threads, double seconds, Products products) {
  const auto multiply_add = HWY_DYNAMIC_DISPATCH(multiply_add_of)(products);
  if (multiply_add == nullptr) return 0;
  return sum_of_rates(threads,
                      [&](std::int64_t) { return arithmetic_rate(multiply_add, seconds); });
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
