#include "targets/cpu/kernels/attention_tile.h"

#include <algorithm>
#include <type_traits>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/machine_features.h"
#include "targets/cpu/kernels/tile_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/attention_tile.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/attention_mask-inl.h"
#include "targets/cpu/kernels/attention_pack-inl.h"
#include "targets/cpu/kernels/attention_products-inl.h"
#include "targets/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

/// Rows that the products take at a time.
constexpr std::int64_t kGroupRows = 6;
constexpr std::int64_t kMaxGroups = divide_up(kAttentionTileRows, kGroupRows);
/// Keys whose weighted values are summed in registers.
constexpr std::int64_t kPartKeys = 128;
constexpr float kLog2E = 1.44269504f;

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
  state.groups = divide_up(tile.rows, kGroupRows);
  for (std::int64_t group = 0; group < state.groups; ++group) {
    std::int64_t used = 0;
    for (std::int64_t r = 0; r < group_rows(tile, group); ++r) {
      used = std::max(used, visible(tile, group * kGroupRows + r));
    }
    state.used[group] = used;
  }
  const D d;
  for (std::int64_t row = 0; row < round_up(tile.rows, kAttentionRowMultiple); ++row) {
    hn::Store(hn::Set(d, kMinusInfinity), d, state.largest + row * lanes());
  }
}

/// Panel by panel, so that one stays in the first-level cache while all rows meet it.
template <class Step>
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
      const std::int64_t needed = divide_up(state.used[group] - column, n);
      run_score<Step>(group_rows(tile, group), std::min(vectors, needed), block);
    }
  });
}

#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
/// The products of whole tiles, and what the functions below look at to find what they wrote.
struct TileStep : BFloat16Step {};

/// All rows see as many keys, for tiles do not look at single rows, and their weights are stored up
/// to the end of a tile.
void score_on_tiles(const AttentionTile& tile, TileState& state) {
  const TileRegisters registers;
  const D d;
  const std::int64_t n = lanes();
  const std::int64_t used = *std::max_element(state.used, state.used + state.groups);
  std::fill_n(state.used, state.groups, used);
  for_each_panel(round_up(tile.count, n) / n, [&](std::int64_t first, std::int64_t vectors) {
    const std::int64_t column = first * n;
    if (used <= column) return;
    TileProduct product;
    product.left = tile.queries;
    product.left_stride = tile.depth;
    product.rows = tile.rows;
    product.right = tile.keys + column * tile.depth;
    product.right_stride = vectors * n;
    product.columns = std::min(vectors, divide_up(used - column, n)) * n;
    product.depth = tile.depth;
    product.sums = tile.scores + column;
    product.sums_stride = tile.score_stride;
    multiply_tiles(registers, product);
  });
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const float* scores = tile.scores + row * tile.score_stride;
    V largest = hn::Set(d, kMinusInfinity);
    for (std::int64_t i = 0; i < used; i += n) {
      largest = hn::Max(hn::LoadU(d, scores + i), largest);  // in this order for NaN, as in score()
    }
    hn::Store(largest, d, state.largest + row * n);
  }
}

void accumulate_on_tiles(const AttentionTile& tile, const TileState& state) {
  const D d;
  const TileRegisters registers;
  const std::int64_t n = lanes();
  const std::int64_t columns = round_up(tile.width, n);
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    if (state.corrections[row] == 1.0f) continue;
    const V correction = hn::Set(d, state.corrections[row]);
    float* output = tile.output + row * tile.output_stride;
    for (std::int64_t i = 0; i < columns; i += n) {
      hn::StoreU(hn::Mul(hn::LoadU(d, output + i), correction), d, output + i);
    }
  }
  TileProduct product;
  product.left = tile.scores;
  product.left_stride = tile.score_stride;
  product.rows = tile.rows;
  product.right = tile.values;
  product.right_stride = tile.value_stride;
  product.columns = columns;
  product.depth = round_up(divide_up(state.used[0], 2), kTile);
  product.adds = true;
  product.sums = tile.output;
  product.sums_stride = tile.output_stride;
  multiply_tiles(registers, product);
}
#endif

template <class Step>
void score_rows(const AttentionTile& tile, TileState& state) {
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  if constexpr (std::is_same_v<Step, TileStep>) return score_on_tiles(tile, state);
#endif
  if (Step::kNumbers > 1 || tile.key_stride == 0) return score_packed<Step>(tile, state);
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
  const V lowest = hn::Set(d, kMinusInfinity);
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

/// The i-th and following weights of a row, as Step takes them.
template <class Step>
HWY_INLINE void store_weights(V weights, float* row, std::int64_t i) {
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  if constexpr (Step::kNumbers > 1) {
    // They take half of the room of the scores, which are read before.
    hn::StoreU(to_bfloat16(weights), HalfWords(), reinterpret_cast<std::uint16_t*>(row) + i);
    return;
  }
#endif
  hn::StoreU(weights, D(), row + i);
}

/// Keys that there must be weights for where so many are seen.
template <class Step>
HWY_INLINE std::int64_t weighed_keys(std::int64_t used) {
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  if constexpr (std::is_same_v<Step, TileStep>) return round_up(used, 2 * kTile);
#endif
  return used;
}

/// weights = 2^(scores * factor - shift) in their place, zero beyond `count` up to `end`. Returns
/// their sums.
template <class Step>
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
    store_weights<Step>(weight, scores, i);
    sum = hn::Add(sum, weight);
  }
  if (i < count) {
    const V exponent = hn::MulSub(hn::LoadU(d, scores + i), factors, shifts);
    const auto is_visible = hn::FirstN(d, static_cast<std::size_t>(count - i));
    const V weight = hn::IfThenElseZero(is_visible, vector_exp2_nonpositive(d, exponent));
    store_weights<Step>(weight, scores, i);
    sum = hn::Add(sum, weight);
    i += n;
  }
  for (; i < end; i += n) store_weights<Step>(hn::Zero(d), scores, i);
  return sum;
}

template <class Step>
void weigh_rows(const AttentionTile& tile, float factor, const TileState& state) {
  const D d;
  const std::int64_t n = lanes();
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const std::int64_t used = state.used[row / kGroupRows];
    if (used <= 0) continue;
    const V sum = exponentiate<Step>(tile.scores + row * tile.score_stride,
                                     std::max<std::int64_t>(0, visible(tile, row)),
                                     weighed_keys<Step>(used), factor, state.shifts[row]);
    float* sums = tile.sums + row * n;
    hn::StoreU(hn::MulAdd(hn::LoadU(d, sums), hn::Set(d, state.corrections[row]), sum), d, sums);
  }
}

/// Part by part of the keys, whose values stay in the first-level cache while all rows meet them;
/// and the rounding error of a long sum is that of its parts.
template <class Step>
void accumulate_rows(const AttentionTile& tile, const TileState& state) {
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  if constexpr (std::is_same_v<Step, TileStep>) return accumulate_on_tiles(tile, state);
#endif
  const std::int64_t n = lanes();
  HWY_ALIGN float ones[kGroupRows];
  std::fill_n(ones, kGroupRows, 1.0f);
  for_each_panel(round_up(tile.width, n) / n, [&](std::int64_t first, std::int64_t vectors) {
    for (std::int64_t key = 0; key < tile.count; key += kPartKeys) {
      for (std::int64_t group = 0; group < state.groups; ++group) {
        if (state.used[group] <= key) continue;
        const std::int64_t row = group * kGroupRows;
        ValueBlock block;
        block.weights = tile.scores + row * tile.score_stride + key / Step::kNumbers;
        block.weight_stride = tile.score_stride;
        block.count = divide_up(std::min(kPartKeys, state.used[group] - key), Step::kNumbers);
        block.values = tile.values + key / Step::kNumbers * tile.value_stride + first * n;
        block.value_stride = tile.value_stride;
        block.corrections = key == 0 ? state.corrections + row : ones;
        block.output = tile.output + row * tile.output_stride + first * n;
        block.output_stride = tile.output_stride;
        run_accumulate<Step>(group_rows(tile, group), vectors, block);
      }
    }
  });
}

template <class Step>
void run_tile(const AttentionTile& tile) {
  TileState state;
  start_tile(tile, state);
  score_rows<Step>(tile, state);
  // Masked scores are scaled already.
  const bool is_masked = tile.mask_kind != AttentionMaskKind::kNone || tile.limits != nullptr;
  if (is_masked) mask_rows(tile, state);
  const float factor = is_masked ? kLog2E : tile.scale * kLog2E;
  update_maxima(tile, factor, state);
  weigh_rows<Step>(tile, factor, state);
  accumulate_rows<Step>(tile, state);
}

bool finish_row(const float* output, const float* sums, std::int64_t width, float* to) {
  const D d;
  const std::int64_t n = lanes();
  const float sum = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sums)));
  if (sum == 0.0f) return false;
  const V divisor = hn::Set(d, sum);
  std::int64_t i = 0;
  for (; i + n <= width; i += n) {
    hn::StoreU(hn::Div(hn::LoadU(d, output + i), divisor), d, to + i);
  }
  if (i < width) store_partial(d, hn::Div(hn::LoadU(d, output + i), divisor), width - i, to + i);
  return true;
}

AttentionFunctions functions() {
  return {kPanelVectors * lanes(), lanes(),        packed_keys_size,      pack_keys, copy_rows,
          largest_magnitude,       summarize_mask, run_tile<Float32Step>, finish_row};
}

const AttentionPairFunctions* pair_functions([[maybe_unused]] Products products) {
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  static constexpr AttentionPairFunctions vectors = {kAttentionRowMultiple, 1, copy_rows_as_pairs,
                                                     pair_rows<1>, run_tile<BFloat16Step>};
  static constexpr AttentionPairFunctions tiles = {kTile, kTile, copy_rows_as_pairs,
                                                   pair_rows<kTile>, run_tile<TileStep>};
  if (products == Products::kBFloat16 && has_bfloat16_products()) return &vectors;
  if (products == Products::kBFloat16Tiles && has_tile_products()) return &tiles;
#endif
  return nullptr;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(functions);
HWY_EXPORT(pair_functions);

AttentionFunctions attention_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

const AttentionPairFunctions* attention_pair_functions(Products products) {
  return HWY_DYNAMIC_DISPATCH(pair_functions)(products);
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
