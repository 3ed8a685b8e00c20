// The products of attention: queries with keys, weights with values. Included once for each
// instruction set.
#if defined(UNFUSE_ATTENTION_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_ATTENTION_PRODUCTS_INL_H_
#undef UNFUSE_ATTENTION_PRODUCTS_INL_H_
#else
#define UNFUSE_ATTENTION_PRODUCTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "targets/cpu/kernels/attention_pack-inl.h"
#include "targets/cpu/kernels/attention_tile.h"
#include "targets/cpu/kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Some rows' scores with up to a panel of keys, and the largest of them so far. Queries and keys
/// are elements as Step takes them.
struct ScoreBlock {
  const float* queries;
  std::int64_t depth;
  const float* panel;  ///< [depth, panel_stride]
  std::int64_t panel_stride;
  float* scores;
  std::int64_t score_stride;
  float* largest;  ///< [rows, vector]
};

template <class Step, int kRows, int kVectors>
void score(const ScoreBlock& block) {
  const D d;
  const std::int64_t n = lanes();
  V sums[kRows][kVectors];
  clear(sums);
  multiply<Step, kRows, kVectors>(block.queries, block.depth, block.panel, block.panel_stride,
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

/// output = output * correction + weights . values, over some keys: elements as Step takes them.
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

template <class Step, int kRows, int kVectors>
void accumulate(const ValueBlock& block) {
  const D d;
  V sums[kRows][kVectors];
  clear(sums);
  multiply<Step, kRows, kVectors>(block.weights, block.weight_stride, block.values,
                                  block.value_stride, block.count, sums);
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    const V correction = hn::Set(d, block.corrections[r]);
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
      float* to = block.output + r * block.output_stride + v * lanes();
      hn::StoreU(hn::MulAdd(hn::LoadU(d, to), correction, sums[r][v]), d, to);
    });
  });
}

/// body(count) with the constant count that `vectors` is, of at least kVectors.
template <int kVectors = 1, class Body>
HWY_INLINE void choose_vectors(std::int64_t vectors, const Body& body) {
  if constexpr (kVectors < kPanelVectors) {
    if (vectors > kVectors) return choose_vectors<kVectors + 1>(vectors, body);
  }
  body(std::integral_constant<int, kVectors>());
}

/// body(rows, vectors) with constants that hold so many.
template <class Body>
HWY_INLINE void choose_instance(std::int64_t rows, std::int64_t vectors, const Body& body) {
  const auto choose = [&](auto r) UNFUSE_LAMBDA {
    choose_vectors(vectors, [&](auto v) UNFUSE_LAMBDA { body(r, v); });
  };
  if (rows > 4) return choose(std::integral_constant<int, 6>());
  if (rows > 2) return choose(std::integral_constant<int, 4>());
  choose(std::integral_constant<int, 2>());
}

template <class Step>
HWY_INLINE void run_score(std::int64_t rows, std::int64_t vectors, const ScoreBlock& block) {
  choose_instance(rows, vectors, [&](auto r, auto v) UNFUSE_LAMBDA {
    score<Step, decltype(r)::value, decltype(v)::value>(block);
  });
}

template <class Step>
HWY_INLINE void run_accumulate(std::int64_t rows, std::int64_t vectors, const ValueBlock& block) {
  choose_instance(rows, vectors, [&](auto r, auto v) UNFUSE_LAMBDA {
    accumulate<Step, decltype(r)::value, decltype(v)::value>(block);
  });
}

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
    V maximum = hn::Set(d, kMinusInfinity);
    std::int64_t i = 0;
    for (; i + n <= tile.count; i += n) maximum = hn::Max(hn::LoadU(d, row_scores + i), maximum);
    if (i < tile.count) {
      const V rest = load_partial(d, row_scores + i, tile.count - i, kMinusInfinity);
      hn::StoreU(rest, d, row_scores + i);
      maximum = hn::Max(rest, maximum);
    }
    hn::Store(maximum, d, largest + r * n);
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_ATTENTION_PRODUCTS_INL_H_
