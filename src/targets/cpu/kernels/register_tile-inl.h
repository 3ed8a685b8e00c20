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

/// What a step along the depth does with an element of either side: they are numbers,
struct Float32Step {
  static constexpr std::int64_t kNumbers = 1;  ///< in an element
  static HWY_INLINE FloatVector accumulate(FloatVector left, FloatVector right, FloatVector sum) {
    return hn::MulAdd(left, right, sum);
  }
};

#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
/// or pairs of bfloat16, which follow each other along the depth: left[0] * right[0] + left[1] *
/// right[1] is added in float32. By its name, for Highway 1.0.3 has none for it; compilers know it
/// in functions only that run nowhere else.
struct BFloat16Step {
  static constexpr std::int64_t kNumbers = 2;
  static HWY_INLINE FloatVector accumulate(FloatVector left, FloatVector right, FloatVector sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(left.raw), "v"(right.raw));
    return sum;
  }
};
#endif

/// sums[r][v] += left[r * left_stride] * right[v * lanes + ...]: one step along the depth.
template <class Step = Float32Step, int kRows, int kVectors>
HWY_INLINE void multiply_step(const float* HWY_RESTRICT left, std::int64_t left_stride,
                              const float* HWY_RESTRICT right,
                              FloatVector (&sums)[kRows][kVectors]) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  FloatVector vectors[kVectors];
  unroll<kVectors>([&](auto v) UNFUSE_LAMBDA { vectors[v] = hn::LoadU(d, right + v * lanes); });
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    const FloatVector factor = hn::Set(d, left[r * left_stride]);
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
      sums[r][v] = Step::accumulate(factor, vectors[v], sums[r][v]);
    });
  });
}

/// sums[r][v] += left[r * left_stride + k] * right[k * right_stride + v * lanes + ...], k < depth.
template <class Step = Float32Step, int kRows, int kVectors>
HWY_INLINE void multiply(const float* HWY_RESTRICT left, std::int64_t left_stride,
                         const float* HWY_RESTRICT right, std::int64_t right_stride,
                         std::int64_t depth, FloatVector (&sums)[kRows][kVectors]) {
  for (std::int64_t k = 0; k < depth; ++k) {
    multiply_step<Step, kRows, kVectors>(left + k, left_stride, right, sums);
    right += right_stride;
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_REGISTER_TILE_INL_H_
