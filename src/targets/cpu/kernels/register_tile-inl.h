// Products of a few rows and a few vectors of columns, summed in registers: what matrix products
// and attention are made of. Included once for each instruction set.
#if defined(UNFUSE_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_REGISTER_TILE_INL_H_
#undef UNFUSE_REGISTER_TILE_INL_H_
#else
#define UNFUSE_REGISTER_TILE_INL_H_
#endif

#include <cstdint>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef UNFUSE_LAMBDA
#define UNFUSE_LAMBDA HWY_ATTR __attribute__((always_inline))

using FloatVector = hn::Vec<hn::ScalableTag<float>>;

/// body(0), ..., body(kCount - 1) with constants: what loops index stays in registers only if they
/// are unrolled before anything else is done to them.
template <int kCount, class Body>
HWY_INLINE void unroll(const Body& body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) UNFUSE_LAMBDA {
    (body(std::integral_constant<int, kIndex>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

template <int kRows, int kVectors>
HWY_INLINE void clear(FloatVector (&sums)[kRows][kVectors]) {
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    unroll<kVectors>([&](auto v)
                         UNFUSE_LAMBDA { sums[r][v] = hn::Zero(hn::ScalableTag<float>()); });
  });
}

/// sums[r][v] += left[r * left_stride] * right[v * lanes + ...]: one step along the depth.
template <int kRows, int kVectors>
HWY_INLINE void multiply_step(const float* HWY_RESTRICT left, std::int64_t left_stride,
                              const float* HWY_RESTRICT right,
                              FloatVector (&sums)[kRows][kVectors]) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  FloatVector vectors[kVectors];
  unroll<kVectors>([&](auto v) UNFUSE_LAMBDA { vectors[v] = hn::LoadU(d, right + v * lanes); });
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    const FloatVector factor = hn::Set(d, left[r * left_stride]);
    unroll<kVectors>(
        [&](auto v) UNFUSE_LAMBDA { sums[r][v] = hn::MulAdd(factor, vectors[v], sums[r][v]); });
  });
}

/// sums[r][v] += left[r * left_stride + k] * right[k * right_stride + v * lanes + ...], k < depth.
template <int kRows, int kVectors>
HWY_INLINE void multiply(const float* HWY_RESTRICT left, std::int64_t left_stride,
                         const float* HWY_RESTRICT right, std::int64_t right_stride,
                         std::int64_t depth, FloatVector (&sums)[kRows][kVectors]) {
  for (std::int64_t k = 0; k < depth; ++k) {
    multiply_step<kRows, kVectors>(left + k, left_stride, right, sums);
    right += right_stride;
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_REGISTER_TILE_INL_H_
