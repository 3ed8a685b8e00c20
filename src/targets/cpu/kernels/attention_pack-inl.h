// Keys, values and queries as the products of attention read them. Included once for each
// instruction set.
#if defined(UNFUSE_ATTENTION_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_ATTENTION_PACK_INL_H_
#undef UNFUSE_ATTENTION_PACK_INL_H_
#else
#define UNFUSE_ATTENTION_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "targets/cpu/kernels/partial_vectors-inl.h"
#include "targets/cpu/kernels/transpose-inl.h"
#include "targets/cpu/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Vectors of keys, or of a value's columns, that meet six rows at a time: with a vector for a
/// broadcast that is what the registers hold.
inline constexpr int kPanelVectors = UNFUSE_FEW_REGISTERS ? 2 : 4;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

/// Splits `vectors` in panels of at most kPanelVectors that are nearly equal: narrow ones would
/// wait for their own sums. Calls visit(first vector, vectors of the panel).
template <class Visit>
HWY_INLINE void for_each_panel(std::int64_t vectors, const Visit& visit) {
  const std::int64_t panels = divide_up(vectors, kPanelVectors);
  std::int64_t begin = 0;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t end = vectors * (panel + 1) / panels;
    visit(begin, end - begin);
    begin = end;
  }
}

/// The transpose of `width` keys, of which there are `used`: the last one is repeated, so that what
/// is beyond never has the largest score.
HWY_INLINE void pack_key_panel(const float* keys, std::int64_t stride, std::int64_t used,
                               std::int64_t width, std::int64_t depth, float* panel) {
  transpose(keys, stride, used, depth, panel, width);
  const float* last = keys + (used - 1) * stride;
  for (std::int64_t s = used; s < width; ++s) {
    for (std::int64_t d = 0; d < depth; ++d) panel[d * width + s] = last[d];
  }
}

std::int64_t packed_keys_size(std::int64_t count, std::int64_t depth) {
  return round_up(count, lanes()) * depth;
}

void pack_keys(const float* keys, std::int64_t stride, std::int64_t count, std::int64_t depth,
               float* packed) {
  const std::int64_t n = lanes();
  for_each_panel(round_up(count, n) / n, [&](std::int64_t first, std::int64_t vectors) {
    const std::int64_t column = first * n;
    pack_key_panel(keys + column * stride, stride, std::min(vectors * n, count - column),
                   vectors * n, depth, packed + column * depth);
  });
}

void copy_rows(const float* from, std::int64_t from_stride, std::int64_t count, std::int64_t width,
               float factor, float* to, std::int64_t to_stride) {
  const D d;
  const std::int64_t n = lanes();
  const V factors = hn::Set(d, factor);
  for (std::int64_t row = 0; row < count; ++row, from += from_stride, to += to_stride) {
    std::int64_t i = 0;
    for (; i + n <= width; i += n) hn::StoreU(hn::Mul(hn::LoadU(d, from + i), factors), d, to + i);
    if (i == width) continue;
    const V rest = hn::Mul(load_partial(d, from + i, width - i), factors);
    if (i + n <= to_stride) {
      hn::StoreU(rest, d, to + i);
    } else {
      store_partial(d, rest, width - i, to + i);
    }
  }
}

#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
using HalfWords = hn::Rebind<std::uint16_t, D>;

/// To nearest, ties to even. By its name, as in register_tile-inl.h.
HWY_INLINE hn::Vec<HalfWords> to_bfloat16(V value) {
  hn::Vec<HalfWords> rounded;
  asm("vcvtneps2bf16 %1, %0" : "=v"(rounded.raw) : "v"(value.raw));
  return rounded;
}

/// Rows times factor, as pairs along the row, filled up with zeros.
void copy_rows_as_pairs(const float* from, std::int64_t from_stride, std::int64_t count,
                        std::int64_t width, float factor, float* to, std::int64_t to_stride) {
  const D d;
  const std::int64_t n = lanes();
  const V factors = hn::Set(d, factor);
  for (std::int64_t row = 0; row < count; ++row, from += from_stride, to += to_stride) {
    auto* pairs = reinterpret_cast<std::uint16_t*>(to);
    std::fill(pairs + width, pairs + 2 * to_stride, std::uint16_t{0});
    std::int64_t i = 0;
    for (; i + n <= width; i += n) {
      hn::StoreU(to_bfloat16(hn::Mul(hn::LoadU(d, from + i), factors)), HalfWords(), pairs + i);
    }
    if (i == width) continue;
    HWY_ALIGN std::uint16_t rest[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(to_bfloat16(hn::Mul(load_partial(d, from + i, width - i), factors)), HalfWords(),
              rest);
    std::copy_n(rest, width - i, pairs + i);
  }
}

/// Pairs of rows that follow each other, in rows of pairs, padded with zeros to whole vectors; the
/// last pair is filled up with zeros, and rows of zeros follow up to the multiple.
template <std::int64_t kMultiple>
void pair_rows(const float* from, std::int64_t from_stride, std::int64_t count, std::int64_t width,
               float* to, std::int64_t to_stride) {
  const D d;
  const hn::RebindToUnsigned<D> words;
  const std::int64_t n = lanes();
  const auto words_at = [&](const float* row, std::int64_t i) HWY_ATTR {
    const V value = i + n <= width ? hn::LoadU(d, row + i) : load_partial(d, row + i, width - i);
    return hn::PromoteTo(words, to_bfloat16(value));
  };
  std::int64_t row = 0;
  for (; row < count; row += 2, from += 2 * from_stride, to += to_stride) {
    for (std::int64_t i = 0; i < width; i += n) {
      auto pair = words_at(from, i);
      if (row + 1 < count) {
        pair = hn::Or(pair, hn::ShiftLeft<16>(words_at(from + from_stride, i)));
      }
      hn::StoreU(hn::BitCast(d, pair), d, to + i);
    }
  }
  for (; row < 2 * round_up(divide_up(count, 2), kMultiple); row += 2, to += to_stride) {
    std::fill_n(to, round_up(width, n), 0.0f);
  }
}
#endif

float largest_magnitude(const float* rows, std::int64_t stride, std::int64_t count,
                        std::int64_t width) {
  const D d;
  const std::int64_t n = lanes();
  const V zero = hn::Zero(d);
  V largest = zero;
  V nothing = zero;  // NaN as soon as something is not finite
  for (std::int64_t row = 0; row < count; ++row, rows += stride) {
    for (std::int64_t i = 0; i < width; i += n) {
      const V x = i + n <= width ? hn::LoadU(d, rows + i) : load_partial(d, rows + i, width - i);
      largest = hn::Max(hn::Abs(x), largest);
      nothing = hn::MulAdd(x, zero, nothing);
    }
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, nothing));
  return sum == 0.0f ? hn::GetLane(hn::MaxOfLanes(d, largest)) : -kMinusInfinity;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_ATTENTION_PACK_INL_H_
