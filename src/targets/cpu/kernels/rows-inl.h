// Sums, maxima and maps of contiguous float32 rows. Included once for each instruction set.
#if defined(UNFUSE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_ROWS_INL_H_
#undef UNFUSE_ROWS_INL_H_
#else
#define UNFUSE_ROWS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sum over i of function(double(row[i])) in float64, four sums side by side. Function takes and
/// gives vectors of doubles, and doubles.
template <class VectorFunction, class ScalarFunction>
HWY_INLINE double sum_row(const float* HWY_RESTRICT row, std::int64_t count,
                          const VectorFunction& function, const ScalarFunction& scalar) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](std::int64_t i)
                        HWY_ATTR { return function(d, hn::PromoteTo(d, hn::LoadU(df, row + i))); };
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, load(i));
    sum1 = hn::Add(sum1, load(i + lanes));
    sum2 = hn::Add(sum2, load(i + 2 * lanes));
    sum3 = hn::Add(sum3, load(i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) sum0 = hn::Add(sum0, load(i));
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) total += scalar(static_cast<double>(row[i]));
  return total;
}

/// The largest element, NaN left out; -infinity for none.
HWY_INLINE float max_row(const float* HWY_RESTRICT row, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float lowest = -std::numeric_limits<float>::infinity();
  auto maximum = hn::Set(d, lowest);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, row + i);
    maximum = hn::IfThenElse(hn::Gt(value, maximum), value, maximum);
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, maximum));
  for (; i < count; ++i) largest = row[i] > largest ? row[i] : largest;
  return largest;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_ROWS_INL_H_
