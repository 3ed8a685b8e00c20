#include "targets/cpu/kernels/attention_tile.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "targets/cpu/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/attention_tile.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Registers: rows x vectors sums, `vectors` operands and a broadcast. 32 vector registers hold
// 6 x 4, the 16 of AVX2 6 x 2.
#undef UNFUSE_LAMBDA
#define UNFUSE_LAMBDA HWY_ATTR __attribute__((always_inline))
#undef UNFUSE_PANEL_VECTORS
#if UNFUSE_FEW_REGISTERS
#define UNFUSE_PANEL_VECTORS 2
#else
#define UNFUSE_PANEL_VECTORS 4
#endif
constexpr int kPanelVectors = UNFUSE_PANEL_VECTORS;
constexpr std::int64_t kGroupRows = 6;
constexpr std::int64_t kMaxGroups = (kAttentionTileRows + kGroupRows - 1) / kGroupRows;
constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr float kLog2E = 1.44269504f;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

HWY_INLINE std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Splits `vectors` in panels of at most kPanelVectors that are nearly equal: narrow ones would
/// wait for their own sums. Calls visit(first vector, vectors of the panel).
template <class Visit>
HWY_INLINE void for_each_panel(std::int64_t vectors, const Visit& visit) {
  const std::int64_t panels = (vectors + kPanelVectors - 1) / kPanelVectors;
  std::int64_t begin = 0;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t end = vectors * (panel + 1) / panels;
    visit(begin, end - begin);
    begin = end;
  }
}

// ---- Packing.

#if HWY_TARGET == HWY_SCALAR
/// to[d * to_stride + s] = from[s * from_stride + d] for a vector of s and four d.
HWY_INLINE void transpose_four(const float* from, std::int64_t /*from_stride*/, float* to,
                               std::int64_t to_stride) {
  for (int i = 0; i < 4; ++i) to[i * to_stride] = from[i];
}
#else
/// Blocks of four columns each, from rows that are 4 * stride apart, side by side.
template <class DV>
HWY_INLINE hn::Vec<DV> load_blocks(DV d, const float* from, std::int64_t stride) {
  constexpr std::size_t kLanes = hn::MaxLanes(DV());
  if constexpr (kLanes <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<DV> half;
    const auto low = load_blocks(half, from, stride);
    const auto high = load_blocks(half, from + kLanes / 2 * stride, stride);
    return hn::Combine(d, high, low);
  }
}

/// to[d * to_stride + s] = from[s * from_stride + d] for a vector of s and four d.
HWY_INLINE void transpose_four(const float* from, std::int64_t from_stride, float* to,
                               std::int64_t to_stride) {
  const D d;
  // Block b of row i holds row 4 b + i.
  const V row0 = load_blocks(d, from, from_stride);
  const V row1 = load_blocks(d, from + from_stride, from_stride);
  const V row2 = load_blocks(d, from + 2 * from_stride, from_stride);
  const V row3 = load_blocks(d, from + 3 * from_stride, from_stride);
  const V even_low = hn::InterleaveLower(d, row0, row2);
  const V even_high = hn::InterleaveUpper(d, row0, row2);
  const V odd_low = hn::InterleaveLower(d, row1, row3);
  const V odd_high = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * to_stride);
}
#endif

/// The transpose of `width` keys, of which there are `used`: the last one is repeated, so that what
/// is beyond never has the largest score.
void pack_key_panel(const float* keys, std::int64_t stride, std::int64_t used, std::int64_t width,
                    std::int64_t depth, float* panel) {
  const std::int64_t n = lanes();
  std::int64_t s = 0;
  for (; s + n <= used; s += n) {
    std::int64_t d = 0;
    for (; d + 4 <= depth; d += 4) {
      transpose_four(keys + s * stride + d, stride, panel + d * width + s, width);
    }
    for (; d < depth; ++d) {
      for (std::int64_t i = 0; i < n; ++i) panel[d * width + s + i] = keys[(s + i) * stride + d];
    }
  }
  for (; s < width; ++s) {
    const float* key = keys + std::min(s, used - 1) * stride;
    for (std::int64_t d = 0; d < depth; ++d) panel[d * width + s] = key[d];
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

HWY_INLINE V load_partial(D d, const float* from, std::int64_t count, float rest) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, rest), d, buffer);
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
}

HWY_INLINE void store_partial(D d, V value, std::int64_t count, float* to) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, d, buffer);
  for (std::int64_t i = 0; i < count; ++i) to[i] = buffer[i];
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
    const V rest = hn::Mul(load_partial(d, from + i, width - i, 0.0f), factors);
    if (i + n <= to_stride) {
      hn::StoreU(rest, d, to + i);
    } else {
      store_partial(d, rest, width - i, to + i);
    }
  }
}

float largest_magnitude(const float* rows, std::int64_t stride, std::int64_t count,
                        std::int64_t width) {
  const D d;
  const std::int64_t n = lanes();
  const V zero = hn::Zero(d);
  V largest = zero;
  V nothing = zero;  // NaN as soon as something is not finite
  for (std::int64_t row = 0; row < count; ++row, rows += stride) {
    for (std::int64_t i = 0; i < width; i += n) {
      const V x =
          i + n <= width ? hn::LoadU(d, rows + i) : load_partial(d, rows + i, width - i, 0.0f);
      largest = hn::Max(hn::Abs(x), largest);
      nothing = hn::MulAdd(x, zero, nothing);
    }
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, nothing));
  return sum == 0.0f ? hn::GetLane(hn::MaxOfLanes(d, largest)) : -kLowest;
}

// ---- Masks.

AttentionMaskSummary summarize_bools(const std::uint8_t* mask, std::int64_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  auto any = zero;
  auto hidden = zero;  // all bits set where one was false
  std::int64_t i = 0;
  for (; i + n <= count; i += n) {
    const auto values = hn::LoadU(d, mask + i);
    any = hn::Or(any, values);
    hidden = hn::Or(hidden, hn::VecFromMask(d, hn::Eq(values, zero)));
  }
  bool attends_some = !hn::AllTrue(d, hn::Eq(any, zero));
  bool hides_some = !hn::AllTrue(d, hn::Eq(hidden, zero));
  for (; i < count; ++i) (mask[i] != 0 ? attends_some : hides_some) = true;
  return {!hides_some, !attends_some, kLowest};
}

/// Numbers below this are what models hide keys with where they do not use -inf.
constexpr float kFaint = -5000;

AttentionMaskSummary summarize_floats(const float* mask, std::int64_t count) {
  const D d;
  const std::int64_t n = lanes();
  AttentionMaskSummary summary = {true, true, kLowest};
  V largest = hn::Set(d, kLowest);
  for (std::int64_t i = 0; i < count && (summary.is_transparent || summary.is_opaque); i += n) {
    const V values =
        i + n <= count ? hn::LoadU(d, mask + i) : load_partial(d, mask + i, count - i, mask[i]);
    // Not true for NaN, which is neither.
    summary.is_transparent &= hn::AllTrue(d, hn::Eq(values, hn::Zero(d)));
    summary.is_opaque &= hn::AllTrue(d, hn::Le(values, hn::Set(d, kFaint)));
    largest = hn::Max(values, largest);
  }
  summary.largest = hn::GetLane(hn::MaxOfLanes(d, largest));
  return summary;
}

AttentionMaskSummary summarize_mask(AttentionMaskKind kind, const void* mask, std::int64_t count) {
  if (kind == AttentionMaskKind::kBool) {
    return summarize_bools(static_cast<const std::uint8_t*>(mask), count);
  }
  if (kind == AttentionMaskKind::kFloat) {
    return summarize_floats(static_cast<const float*>(mask), count);
  }
  return {true, false, 0};
}

/// What is added to the scores of the keys from `i` on; beyond `count`, anything.
HWY_INLINE V load_mask(AttentionMaskKind kind, const void* mask, std::int64_t i,
                       std::int64_t count) {
  const D d;
  if (kind == AttentionMaskKind::kNone) return hn::Zero(d);
  if (kind == AttentionMaskKind::kFloat) {
    const float* from = static_cast<const float*>(mask) + i;
    return i + lanes() <= count ? hn::LoadU(d, from) : load_partial(d, from, count - i, 0.0f);
  }
  const hn::Rebind<std::uint8_t, D> du8;
  const hn::RebindToUnsigned<D> du;
  HWY_ALIGN std::uint8_t buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  const std::uint8_t* from = static_cast<const std::uint8_t*>(mask) + i;
  if (i + lanes() > count) {
    std::memcpy(buffer, from, static_cast<std::size_t>(count - i));
    from = buffer;
  }
  const auto bytes = hn::PromoteTo(du, hn::LoadU(du8, from));
  const auto is_hidden = hn::RebindMask(d, hn::Eq(bytes, hn::Zero(du)));
  return hn::IfThenElseZero(is_hidden, hn::Set(d, kLowest));
}

/// Models hide keys with the lowest float32 there is; times log2(e), it must not become -inf.
constexpr float kLeastScore = -2e38f;

/// Scales, adds the mask; returns the largest scores. What the last vector holds beyond `visible`
/// becomes -inf.
HWY_INLINE V mask_row(AttentionMaskKind kind, const void* mask, float scale, std::int64_t visible,
                      float* scores) {
  const D d;
  const V factor = hn::Set(d, scale);
  const V lowest = hn::Set(d, kLowest);
  const V least = hn::Set(d, kLeastScore);
  V largest = lowest;
  for (std::int64_t i = 0; i < visible; i += lanes()) {
    V score = hn::MulAdd(hn::LoadU(d, scores + i), factor, load_mask(kind, mask, i, visible));
    const auto is_too_low = hn::And(hn::Lt(score, least), hn::Gt(score, lowest));
    score = hn::IfThenElse(is_too_low, least, score);
    if (i + lanes() > visible) {
      const auto is_visible = hn::FirstN(d, static_cast<std::size_t>(visible - i));
      score = hn::IfThenElse(is_visible, score, lowest);
    }
    hn::StoreU(score, d, scores + i);
    largest = hn::Max(score, largest);  // this order keeps the old one when a score is NaN
  }
  return largest;
}

// ---- Products.

/// body(0), ..., body(kCount - 1) with constants: what loops index stays in registers only if they
/// are unrolled before anything else is done to them.
template <int kCount, class Body>
HWY_INLINE void unroll(const Body& body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) UNFUSE_LAMBDA {
    (body(std::integral_constant<int, kIndex>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

/// sums[r][v] += left[r * left_stride + k] * right[k * right_stride + v * lanes + ...], k < depth.
template <int kRows, int kVectors>
HWY_INLINE void multiply(const float* HWY_RESTRICT left, std::int64_t left_stride,
                         const float* HWY_RESTRICT right, std::int64_t right_stride,
                         std::int64_t depth, V (&sums)[kRows][kVectors]) {
  const D d;
  const std::int64_t n = lanes();
  for (std::int64_t k = 0; k < depth; ++k) {
    V vectors[kVectors];
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA { vectors[v] = hn::LoadU(d, right + v * n); });
    right += right_stride;
    unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
      const V factor = hn::Set(d, left[r * left_stride + k]);
      unroll<kVectors>(
          [&](auto v) UNFUSE_LAMBDA { sums[r][v] = hn::MulAdd(factor, vectors[v], sums[r][v]); });
    });
  }
}

/// Some rows' scores with up to a panel of keys, and the largest of them so far.
struct ScoreBlock {
  const float* queries;
  std::int64_t depth;
  const float* panel;  ///< [depth, panel_stride]
  std::int64_t panel_stride;
  float* scores;
  std::int64_t score_stride;
  float* largest;  ///< [rows, vector]
};

template <int kRows, int kVectors>
void score(const ScoreBlock& block) {
  const D d;
  const std::int64_t n = lanes();
  V sums[kRows][kVectors];
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA { sums[r][v] = hn::Zero(d); });
  });
  multiply<kRows, kVectors>(block.queries, block.depth, block.panel, block.panel_stride,
                            block.depth, sums);
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    V largest = hn::Load(d, block.largest + r * n);
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
      hn::StoreU(sums[r][v], d, block.scores + r * block.score_stride + v * n);
      largest = hn::Max(sums[r][v], largest);  // this order keeps the old one when a score is NaN
    });
    hn::Store(largest, d, block.largest + r * n);
  });
}

/// output = output * correction + weights . values, over some keys.
struct ValueBlock {
  const float* weights;
  std::int64_t weight_stride;
  std::int64_t count;
  const float* values;
  std::int64_t value_stride;
  const float* corrections;  ///< [rows]
  float* output;
  std::int64_t output_stride;
};

template <int kRows, int kVectors>
void accumulate(const ValueBlock& block) {
  const D d;
  V sums[kRows][kVectors];
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA { sums[r][v] = hn::Zero(d); });
  });
  multiply<kRows, kVectors>(block.weights, block.weight_stride, block.values, block.value_stride,
                            block.count, sums);
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    const V correction = hn::Set(d, block.corrections[r]);
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
      float* to = block.output + r * block.output_stride + v * lanes();
      hn::StoreU(hn::MulAdd(hn::LoadU(d, to), correction, sums[r][v]), d, to);
    });
  });
}

/// Calls the instance of kRows and kVectors.
#define UNFUSE_CALL_ROWS(function, rows, vectors, block)        \
  switch (vectors) {                                            \
    case 1:                                                     \
      return function<rows, 1>(block);                          \
    case 2:                                                     \
      return function<rows, 2>(block);                          \
    case 3:                                                     \
      return function<rows, std::min(3, kPanelVectors)>(block); \
    default:                                                    \
      return function<rows, kPanelVectors>(block);              \
  }

HWY_INLINE void run_score(std::int64_t rows, std::int64_t vectors, const ScoreBlock& block) {
  if (rows > 4) UNFUSE_CALL_ROWS(score, 6, vectors, block)
  if (rows > 2) UNFUSE_CALL_ROWS(score, 4, vectors, block)
  UNFUSE_CALL_ROWS(score, 2, vectors, block)
}

HWY_INLINE void run_accumulate(std::int64_t rows, std::int64_t vectors, const ValueBlock& block) {
  if (rows > 4) UNFUSE_CALL_ROWS(accumulate, 6, vectors, block)
  if (rows > 2) UNFUSE_CALL_ROWS(accumulate, 4, vectors, block)
  UNFUSE_CALL_ROWS(accumulate, 2, vectors, block)
}

#undef UNFUSE_CALL_ROWS

#if HWY_TARGET == HWY_SCALAR
/// Sums (or maxima) of the lanes of each of four vectors.
template <class Combine>
HWY_INLINE void reduce_four(V a, V b, V c, V e, const Combine& /*combine*/, float* to) {
  to[0] = hn::GetLane(a);
  to[1] = hn::GetLane(b);
  to[2] = hn::GetLane(c);
  to[3] = hn::GetLane(e);
}
#else
template <class DV, class Combine>
HWY_INLINE void reduce_blocks(DV d, hn::Vec<DV> x, const Combine& combine, float* to) {
  if constexpr (hn::MaxLanes(DV()) <= 4) {
    hn::StoreU(x, d, to);
  } else {
    const hn::Half<DV> half;
    reduce_blocks(half, combine(half, hn::LowerHalf(half, x), hn::UpperHalf(half, x)), combine, to);
  }
}

/// Sums (or maxima) of the lanes of each of four vectors.
template <class Combine>
HWY_INLINE void reduce_four(V a, V b, V c, V e, const Combine& combine, float* to) {
  const D d;
  const V ac = combine(d, hn::InterleaveLower(d, a, c), hn::InterleaveUpper(d, a, c));
  const V be = combine(d, hn::InterleaveLower(d, b, e), hn::InterleaveUpper(d, b, e));
  const V all = combine(d, hn::InterleaveLower(d, ac, be), hn::InterleaveUpper(d, ac, be));
  reduce_blocks(d, all, combine, to);
}
#endif

struct AddVectors {
  template <class DV, class VV>
  HWY_INLINE VV operator()(DV /*d*/, VV a, VV b) const {
    return hn::Add(a, b);
  }
};
struct MaxVectors {
  template <class DV, class VV>
  HWY_INLINE VV operator()(DV /*d*/, VV a, VV b) const {
    return hn::Max(a, b);
  }
};

/// Scores of few rows with keys that are not packed: depth is a multiple of the vector.
template <int kRows>
void score_unpacked(const AttentionTile& tile, std::int64_t row, float* largest) {
  const D d;
  const std::int64_t n = lanes();
  const float* queries = tile.queries + row * tile.depth;
  float* scores = tile.scores + row * tile.score_stride;
  for (std::int64_t key = 0; key < tile.count; key += 4) {
    const float* keys[4];
    for (int i = 0; i < 4; ++i) {
      keys[i] = tile.keys + std::min(key + i, tile.count - 1) * tile.key_stride;
    }
    V sums[kRows][4];
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < 4; ++i) sums[r][i] = hn::Zero(d);
    }
    for (std::int64_t k = 0; k < tile.depth; k += n) {
      V vectors[4];
      for (int i = 0; i < 4; ++i) vectors[i] = hn::LoadU(d, keys[i] + k);
      for (int r = 0; r < kRows; ++r) {
        const V query = hn::LoadU(d, queries + r * tile.depth + k);
        for (int i = 0; i < 4; ++i) sums[r][i] = hn::MulAdd(query, vectors[i], sums[r][i]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      reduce_four(sums[r][0], sums[r][1], sums[r][2], sums[r][3], AddVectors(),
                  scores + r * tile.score_stride + key);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* row_scores = scores + r * tile.score_stride;
    V maximum = hn::Set(d, kLowest);
    std::int64_t i = 0;
    for (; i + n <= tile.count; i += n) maximum = hn::Max(hn::LoadU(d, row_scores + i), maximum);
    if (i < tile.count) {
      const V rest = load_partial(d, row_scores + i, tile.count - i, kLowest);
      hn::StoreU(rest, d, row_scores + i);
      maximum = hn::Max(rest, maximum);
    }
    hn::Store(maximum, d, largest + r * n);
  }
}

// ---- A tile.

/// What the functions below share.
struct TileState {
  std::int64_t groups = 0;
  std::int64_t used[kMaxGroups];  ///< keys that some row of the group sees
  HWY_ALIGN float largest[kAttentionTileRows * HWY_MAX_BYTES / sizeof(float)];  ///< scores of rows
  HWY_ALIGN float shifts[kAttentionTileRows];  ///< of the scores times the factor
  HWY_ALIGN float corrections[kAttentionTileRows];
};

HWY_INLINE std::int64_t group_rows(const AttentionTile& tile, std::int64_t group) {
  return std::min(kGroupRows, tile.rows - group * kGroupRows);
}

HWY_INLINE std::int64_t visible(const AttentionTile& tile, std::int64_t row) {
  return tile.limits == nullptr ? tile.count : tile.limits[row];
}

HWY_INLINE void start_tile(const AttentionTile& tile, TileState& state) {
  state.groups = (tile.rows + kGroupRows - 1) / kGroupRows;
  for (std::int64_t group = 0; group < state.groups; ++group) {
    std::int64_t used = 0;
    for (std::int64_t r = 0; r < group_rows(tile, group); ++r) {
      used = std::max(used, visible(tile, group * kGroupRows + r));
    }
    state.used[group] = used;
  }
  const D d;
  for (std::int64_t row = 0; row < round_up(tile.rows, kAttentionRowMultiple); ++row) {
    hn::Store(hn::Set(d, kLowest), d, state.largest + row * lanes());
  }
}

/// Panel by panel, so that one stays in the first-level cache while all rows meet it.
void score_packed(const AttentionTile& tile, TileState& state) {
  const std::int64_t n = lanes();
  for_each_panel(round_up(tile.count, n) / n, [&](std::int64_t first, std::int64_t vectors) {
    const std::int64_t column = first * n;
    for (std::int64_t group = 0; group < state.groups; ++group) {
      if (state.used[group] <= column) continue;
      const std::int64_t row = group * kGroupRows;
      ScoreBlock block;
      block.queries = tile.queries + row * tile.depth;
      block.depth = tile.depth;
      block.panel = tile.keys + column * tile.depth;
      block.panel_stride = vectors * n;
      block.scores = tile.scores + row * tile.score_stride + column;
      block.score_stride = tile.score_stride;
      block.largest = state.largest + row * n;
      const std::int64_t needed = (state.used[group] - column + n - 1) / n;
      run_score(group_rows(tile, group), std::min(vectors, needed), block);
    }
  });
}

void score_rows(const AttentionTile& tile, TileState& state) {
  if (tile.key_stride == 0) return score_packed(tile, state);
  std::int64_t row = 0;
  for (; row + 4 <= tile.rows; row += 4) {
    score_unpacked<4>(tile, row, state.largest + row * lanes());
  }
  if (row + 2 <= tile.rows) {
    score_unpacked<2>(tile, row, state.largest + row * lanes());
    row += 2;
  }
  if (row < tile.rows) score_unpacked<1>(tile, row, state.largest + row * lanes());
}

void mask_rows(const AttentionTile& tile, TileState& state) {
  const D d;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const void* mask = tile.mask_kind == AttentionMaskKind::kNone ? nullptr : tile.mask[row];
    const V largest = mask_row(tile.mask_kind, mask, tile.scale, visible(tile, row),
                               tile.scores + row * tile.score_stride);
    hn::Store(largest, d, state.largest + row * lanes());
  }
}

/// The new maxima, and by what must shrink what was summed up before.
void update_maxima(const AttentionTile& tile, float factor, TileState& state) {
  const D d;
  const std::int64_t n = lanes();
  const V lowest = hn::Set(d, kLowest);
  // Rows past the last one are whatever the buffers hold.
  HWY_ALIGN float largest[kAttentionTileRows];
  for (std::int64_t row = 0; row < tile.rows; row += 4) {
    const float* from = state.largest + row * n;
    reduce_four(hn::Load(d, from), hn::Load(d, from + n), hn::Load(d, from + 2 * n),
                hn::Load(d, from + 3 * n), MaxVectors(), largest + row);
  }
  for (std::int64_t row = 0; row < tile.rows; row += n) {
    const V old = hn::LoadU(d, tile.maxima + row);
    const V maximum = hn::Max(hn::Mul(hn::Load(d, largest + row), hn::Set(d, factor)), old);
    // With nothing but -inf so far, any finite number will do: every weight is zero.
    const V shift = hn::IfThenZeroElse(hn::Eq(maximum, lowest), maximum);
    hn::StoreU(maximum, d, tile.maxima + row);
    hn::Store(shift, d, state.shifts + row);
    hn::Store(vector_exp2_nonpositive(d, hn::Sub(old, shift)), d, state.corrections + row);
  }
}

/// scores = 2^(scores * factor - shift), zero beyond `count` up to `end`. Returns their sums.
HWY_INLINE V exponentiate(float* scores, std::int64_t count, std::int64_t end, float factor,
                          float shift) {
  const D d;
  const std::int64_t n = lanes();
  const V factors = hn::Set(d, factor);
  const V shifts = hn::Set(d, shift);
  V sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + n <= count; i += n) {
    const V exponent = hn::MulSub(hn::LoadU(d, scores + i), factors, shifts);
    const V weight = vector_exp2_nonpositive(d, exponent);
    hn::StoreU(weight, d, scores + i);
    sum = hn::Add(sum, weight);
  }
  if (i < count) {
    const V exponent = hn::MulSub(hn::LoadU(d, scores + i), factors, shifts);
    const auto is_visible = hn::FirstN(d, static_cast<std::size_t>(count - i));
    const V weight = hn::IfThenElseZero(is_visible, vector_exp2_nonpositive(d, exponent));
    hn::StoreU(weight, d, scores + i);
    sum = hn::Add(sum, weight);
    i += n;
  }
  for (; i < end; i += n) hn::StoreU(hn::Zero(d), d, scores + i);
  return sum;
}

void weigh_rows(const AttentionTile& tile, float factor, const TileState& state) {
  const D d;
  const std::int64_t n = lanes();
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const std::int64_t used = state.used[row / kGroupRows];
    if (used <= 0) continue;
    const V sum = exponentiate(tile.scores + row * tile.score_stride,
                               std::max<std::int64_t>(0, visible(tile, row)), used, factor,
                               state.shifts[row]);
    float* sums = tile.sums + row * n;
    hn::StoreU(hn::MulAdd(hn::LoadU(d, sums), hn::Set(d, state.corrections[row]), sum), d, sums);
  }
}

void accumulate_rows(const AttentionTile& tile, const TileState& state) {
  const std::int64_t n = lanes();
  for_each_panel(round_up(tile.width, n) / n, [&](std::int64_t first, std::int64_t vectors) {
    for (std::int64_t group = 0; group < state.groups; ++group) {
      if (state.used[group] <= 0) continue;
      const std::int64_t row = group * kGroupRows;
      ValueBlock block;
      block.weights = tile.scores + row * tile.score_stride;
      block.weight_stride = tile.score_stride;
      block.count = state.used[group];
      block.values = tile.values + first * n;
      block.value_stride = tile.value_stride;
      block.corrections = state.corrections + row;
      block.output = tile.output + row * tile.output_stride + first * n;
      block.output_stride = tile.output_stride;
      run_accumulate(group_rows(tile, group), vectors, block);
    }
  });
}

void run_tile(const AttentionTile& tile) {
  TileState state;
  start_tile(tile, state);
  score_rows(tile, state);
  // Masked scores are scaled already.
  const bool is_masked = tile.mask_kind != AttentionMaskKind::kNone || tile.limits != nullptr;
  if (is_masked) mask_rows(tile, state);
  const float factor = is_masked ? kLog2E : tile.scale * kLog2E;
  update_maxima(tile, factor, state);
  weigh_rows(tile, factor, state);
  accumulate_rows(tile, state);
}

bool finish_row(const float* output, const float* sums, std::int64_t width, float* to) {
  const D d;
  const std::int64_t n = lanes();
  const float sum = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sums)));
  if (sum == 0.0f) return false;
  const V factor = hn::Set(d, 1.0f / sum);
  std::int64_t i = 0;
  for (; i + n <= width; i += n) hn::StoreU(hn::Mul(hn::LoadU(d, output + i), factor), d, to + i);
  if (i < width) store_partial(d, hn::Mul(hn::LoadU(d, output + i), factor), width - i, to + i);
  return true;
}

AttentionFunctions functions() {
  return {kPanelVectors * lanes(), lanes(),        packed_keys_size, pack_keys, copy_rows,
          largest_magnitude,       summarize_mask, run_tile,         finish_row};
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(functions);

AttentionFunctions attention_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
