// Transposes of float32 matrices. Included once for each instruction set.
#if defined(UNFUSE_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_TRANSPOSE_INL_H_
#undef UNFUSE_TRANSPOSE_INL_H_
#else
#define UNFUSE_TRANSPOSE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
/// to[c * to_stride + r] = from[r * from_stride + c] for a vector of r and four c.
HWY_INLINE void transpose_four(const float* from, std::int64_t /*from_stride*/, float* to,
                               std::int64_t to_stride) {
  for (int i = 0; i < 4; ++i) to[i * to_stride] = from[i];
}
#else
/// Blocks of four elements each, from rows that are 4 * stride apart, side by side.
template <class DV>
HWY_INLINE hn::Vec<DV> load_blocks(DV d, const float* from, std::int64_t stride) {
  constexpr std::size_t kLanes = hn::MaxLanes(DV());
  if constexpr (kLanes <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<DV> half;
    const auto low = load_blocks(half, from, stride);
    const auto high = load_blocks(half, from + kLanes * stride / 2, stride);
    return hn::Combine(d, high, low);
  }
}

/// to[c * to_stride + r] = from[r * from_stride + c] for a vector of r and four c.
HWY_INLINE void transpose_four(const float* from, std::int64_t from_stride, float* to,
                               std::int64_t to_stride) {
  const hn::ScalableTag<float> d;
  // Block b of row i holds row 4 b + i.
  const auto row0 = load_blocks(d, from, from_stride);
  const auto row1 = load_blocks(d, from + from_stride, from_stride);
  const auto row2 = load_blocks(d, from + 2 * from_stride, from_stride);
  const auto row3 = load_blocks(d, from + 3 * from_stride, from_stride);
  const auto even_low = hn::InterleaveLower(d, row0, row2);
  const auto even_high = hn::InterleaveUpper(d, row0, row2);
  const auto odd_low = hn::InterleaveLower(d, row1, row3);
  const auto odd_high = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * to_stride);
}
#endif

/// to[c * to_stride + r] = from[r * from_stride + c] for r < rows and c < columns.
HWY_INLINE void transpose(const float* from, std::int64_t from_stride, std::int64_t rows,
                          std::int64_t columns, float* to, std::int64_t to_stride) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  std::int64_t r = 0;
  for (; r + lanes <= rows; r += lanes) {
    const float* strip = from + r * from_stride;
    std::int64_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      transpose_four(strip + c, from_stride, to + c * to_stride + r, to_stride);
    }
    for (; c < columns; ++c) {
      for (std::int64_t i = 0; i < lanes; ++i) {
        to[c * to_stride + r + i] = strip[i * from_stride + c];
      }
    }
  }
  for (; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_TRANSPOSE_INL_H_
