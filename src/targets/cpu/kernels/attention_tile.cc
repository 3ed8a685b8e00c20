#include "targets/cpu/kernels/attention_tile.h"

#include <algorithm>
#include <cstring>

#include "targets/cpu/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/attention_tile.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Registers: kAttentionRows x kVectors sums, kVectors operands and a broadcast. 32 vector registers
// hold 6 x 4, the 16 of AVX2 6 x 2.
#undef UNFUSE_PANEL_VECTORS
#if UNFUSE_FEW_REGISTERS
#define UNFUSE_PANEL_VECTORS 2
#else
#define UNFUSE_PANEL_VECTORS 4
#endif
constexpr int kPanelVectors = UNFUSE_PANEL_VECTORS;
constexpr int kRows = static_cast<int>(kAttentionRows);

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

HWY_INLINE std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Width of the panel that starts at `column` of `count`.
HWY_INLINE std::int64_t panel_width(std::int64_t column, std::int64_t count) {
  return std::min(kPanelVectors * lanes(), round_up(count - column, lanes()));
}

// ---- Packing.

/// to[d * to_stride + s] = from[s * from_stride + d] for 4 x 4 elements.
HWY_INLINE void transpose_4x4(const float* from, std::int64_t from_stride, float* to,
                              std::int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int s = 0; s < 4; ++s) {
    for (int d = 0; d < 4; ++d) to[d * to_stride + s] = from[s * from_stride + d];
  }
#else
  const hn::FixedTag<float, 4> d4;
  const auto row0 = hn::LoadU(d4, from);
  const auto row1 = hn::LoadU(d4, from + from_stride);
  const auto row2 = hn::LoadU(d4, from + 2 * from_stride);
  const auto row3 = hn::LoadU(d4, from + 3 * from_stride);
  const auto low01 = hn::InterleaveLower(d4, row0, row1);
  const auto low23 = hn::InterleaveLower(d4, row2, row3);
  const auto high01 = hn::InterleaveUpper(d4, row0, row1);
  const auto high23 = hn::InterleaveUpper(d4, row2, row3);
  hn::StoreU(hn::ConcatLowerLower(d4, low23, low01), d4, to);
  hn::StoreU(hn::ConcatUpperUpper(d4, low23, low01), d4, to + to_stride);
  hn::StoreU(hn::ConcatLowerLower(d4, high23, high01), d4, to + 2 * to_stride);
  hn::StoreU(hn::ConcatUpperUpper(d4, high23, high01), d4, to + 3 * to_stride);
#endif
}

/// One panel of the transpose: `used` of `width` columns come from memory.
void pack_key_panel(const float* keys, std::int64_t stride, std::int64_t used, std::int64_t width,
                    std::int64_t depth, float* panel) {
  if (used < width) std::memset(panel, 0, static_cast<std::size_t>(width * depth) * sizeof(float));
  std::int64_t s = 0;
  for (; s + 4 <= used; s += 4) {
    std::int64_t d = 0;
    for (; d + 4 <= depth; d += 4) {
      transpose_4x4(keys + s * stride + d, stride, panel + d * width + s, width);
    }
    for (; d < depth; ++d) {
      for (int i = 0; i < 4; ++i) panel[d * width + s + i] = keys[(s + i) * stride + d];
    }
  }
  for (; s < used; ++s) {
    for (std::int64_t d = 0; d < depth; ++d) panel[d * width + s] = keys[s * stride + d];
  }
}

void pack_keys(const float* keys, std::int64_t stride, std::int64_t count, std::int64_t depth,
               float* panels) {
  for (std::int64_t column = 0; column < count;) {
    const std::int64_t width = panel_width(column, count);
    pack_key_panel(keys + column * stride, stride, std::min(width, count - column), width, depth,
                   panels);
    panels += width * depth;
    column += width;
  }
}

void pack_values(const float* values, std::int64_t stride, std::int64_t count, std::int64_t width,
                 float* panels) {
  for (std::int64_t column = 0; column < width;) {
    const std::int64_t panel = panel_width(column, width);
    const std::int64_t used = std::min(panel, width - column);
    for (std::int64_t s = 0; s < count; ++s, panels += panel) {
      std::memcpy(panels, values + s * stride + column,
                  static_cast<std::size_t>(used) * sizeof(float));
      std::fill(panels + used, panels + panel, 0.0f);
    }
    column += panel;
  }
}

// ---- Products.

/// sums[r][v] += left[r * left_stride + k] * panel[k * kVectors + v], over k < depth.
template <int kVectors>
HWY_INLINE void multiply_panel(const float* HWY_RESTRICT left, std::int64_t left_stride,
                               const float* HWY_RESTRICT panel, std::int64_t depth,
                               V (&sums)[kRows][kVectors]) {
  const D d;
  const std::int64_t n = lanes();
  for (std::int64_t k = 0; k < depth; ++k) {
    V right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, panel + v * n);
    panel += kVectors * n;
    for (int r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, left[r * left_stride + k]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, right[v], sums[r][v]);
    }
  }
}

template <int kVectors>
void score_panel(const float* queries, std::int64_t depth, const float* panel, float* scores,
                 std::int64_t score_stride) {
  const D d;
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  multiply_panel<kVectors>(queries, depth, panel, depth, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, scores + r * score_stride + v * lanes());
    }
  }
}

/// output = output * correction + weights * panel.
template <int kVectors>
void accumulate_panel(const float* weights, std::int64_t weight_stride, std::int64_t count,
                      const float* panel, const float* corrections, float* output,
                      std::int64_t output_stride) {
  const D d;
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    const V correction = hn::Set(d, corrections[r]);
    for (int v = 0; v < kVectors; ++v) {
      const V old = hn::LoadU(d, output + r * output_stride + v * lanes());
      sums[r][v] = hn::Mul(old, correction);
    }
  }
  multiply_panel<kVectors>(weights, weight_stride, panel, count, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, output + r * output_stride + v * lanes());
    }
  }
}

void score_rows(const AttentionTile& tile, std::int64_t row, std::int64_t count) {
  const float* queries = tile.queries + row * tile.depth;
  float* scores = tile.scores + row * tile.score_stride;
  const float* panel = tile.keys;
  for (std::int64_t column = 0; column < count;) {
    // The panel's width is that of the packed tile, whatever part of it is used.
    const std::int64_t width = panel_width(column, tile.count);
    float* to = scores + column;
    switch (width / lanes()) {
      case 1:
        score_panel<1>(queries, tile.depth, panel, to, tile.score_stride);
        break;
      case 2:
        score_panel<2>(queries, tile.depth, panel, to, tile.score_stride);
        break;
#if UNFUSE_PANEL_VECTORS > 2
      case 3:
        score_panel<3>(queries, tile.depth, panel, to, tile.score_stride);
        break;
      default:
        score_panel<4>(queries, tile.depth, panel, to, tile.score_stride);
        break;
#endif
    }
    panel += width * tile.depth;
    column += width;
  }
}

void accumulate_rows(const AttentionTile& tile, std::int64_t row, std::int64_t count,
                     const float* corrections) {
  const float* weights = tile.scores + row * tile.score_stride;
  float* output = tile.output + row * tile.output_stride;
  const float* panel = tile.values;
  const std::int64_t stride = tile.score_stride;
  for (std::int64_t column = 0; column < tile.width;) {
    const std::int64_t width = panel_width(column, tile.width);
    float* to = output + column;
    switch (width / lanes()) {
      case 1:
        accumulate_panel<1>(weights, stride, count, panel, corrections, to, tile.output_stride);
        break;
      case 2:
        accumulate_panel<2>(weights, stride, count, panel, corrections, to, tile.output_stride);
        break;
#if UNFUSE_PANEL_VECTORS > 2
      case 3:
        accumulate_panel<3>(weights, stride, count, panel, corrections, to, tile.output_stride);
        break;
      default:
        accumulate_panel<4>(weights, stride, count, panel, corrections, to, tile.output_stride);
        break;
#endif
    }
    panel += width * tile.count;
    column += width;
  }
}

// ---- Softmax.

HWY_INLINE V load_partial(D d, const float* from, std::int64_t count, float rest) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, rest), d, buffer);
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
}

/// Scales, adds the mask; returns the largest of `count` scores. What the last vector holds beyond
/// them becomes -inf.
HWY_INLINE float scale_and_mask(float* scores, std::int64_t count, float scale,
                                const float* additive) {
  const D d;
  const V factor = hn::Set(d, scale);
  const float lowest = -std::numeric_limits<float>::infinity();
  V maximum = hn::Set(d, lowest);
  std::int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) {
    V score = hn::Mul(hn::LoadU(d, scores + i), factor);
    if (additive != nullptr) score = hn::Add(score, hn::LoadU(d, additive + i));
    hn::StoreU(score, d, scores + i);
    maximum = hn::Max(score, maximum);  // this order keeps the old maximum when a score is NaN
  }
  if (i < count) {
    V score = hn::Mul(hn::LoadU(d, scores + i), factor);
    if (additive != nullptr) {
      score = hn::Add(score, load_partial(d, additive + i, count - i, 0.0f));
    }
    const auto is_used = hn::FirstN(d, static_cast<std::size_t>(count - i));
    score = hn::IfThenElse(is_used, score, hn::Set(d, lowest));
    hn::StoreU(score, d, scores + i);
    maximum = hn::Max(score, maximum);
  }
  return hn::GetLane(hn::MaxOfLanes(d, maximum));
}

/// scores = exp(scores - maximum); returns their sum. Whole vectors.
HWY_INLINE float exponentiate(float* scores, std::int64_t count, float maximum) {
  const D d;
  const V shift = hn::Set(d, maximum);
  V sum = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += lanes()) {
    const V weight = vector_exp_nonpositive(d, hn::Sub(hn::LoadU(d, scores + i), shift));
    hn::StoreU(weight, d, scores + i);
    sum = hn::Add(sum, weight);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Turns a row's scores into weights relative to its new maximum. Returns the factor by which what
/// was summed up before must shrink.
float softmax_row(const AttentionTile& tile, std::int64_t row, std::int64_t visible,
                  std::int64_t used) {
  float* scores = tile.scores + row * tile.score_stride;
  if (visible <= 0) {
    std::fill(scores, scores + used, 0.0f);
    return 1.0f;
  }
  const float* additive =
      tile.additive == nullptr ? nullptr : tile.additive + row * tile.additive_stride;
  const float old = tile.maxima[row];
  const float lowest = -std::numeric_limits<float>::infinity();
  const float largest = scale_and_mask(scores, visible, tile.scale, additive);
  const float maximum = largest > old ? largest : old;
  // With nothing but -inf so far, any finite number will do: every weight is zero.
  const float shift = maximum == lowest ? 0.0f : maximum;
  const float sum = exponentiate(scores, visible, shift);
  const std::int64_t written = round_up(visible, lanes());
  if (written < used) std::fill(scores + written, scores + used, 0.0f);
  const float correction = old == lowest ? 0.0f : std::exp(old - shift);
  tile.maxima[row] = maximum;
  tile.sums[row] = tile.sums[row] * correction + sum;
  return correction;
}

void run_tile(const AttentionTile& tile) {
  for (std::int64_t row = 0; row < tile.rows; row += kRows) {
    const std::int64_t rows = std::min<std::int64_t>(kRows, tile.rows - row);
    // The last of these rows sees the most keys.
    const std::int64_t used = std::min(tile.count, tile.causal_limit + row + rows - 1);
    if (used <= 0) continue;
    score_rows(tile, row, used);
    float corrections[kRows] = {};
    for (std::int64_t r = 0; r < kRows; ++r) {
      const std::int64_t visible = std::min(tile.count, tile.causal_limit + row + r);
      corrections[r] = r < rows ? softmax_row(tile, row + r, visible, used)
                                : softmax_row(tile, row + r, 0, used);  // padding
    }
    accumulate_rows(tile, row, used, corrections);
  }
}

AttentionFunctions functions() {
  return {kPanelVectors * lanes(), lanes(), pack_keys, pack_values, run_tile};
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(functions);

AttentionFunctions attention_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
