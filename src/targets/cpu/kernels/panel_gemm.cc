#include "targets/cpu/kernels/panel_gemm.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/panel_gemm.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "targets/cpu/kernels/partial_vectors-inl.h"
#include "targets/cpu/kernels/register_tile-inl.h"
#include "targets/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Registers: rows x vectors sums, `vectors` weights and a broadcast. 32 vector registers hold
// 6 x 4, 16 hold 4 x 3.
constexpr int kMaxRows = UNFUSE_FEW_REGISTERS ? 4 : 6;
constexpr int kMaxVectors = UNFUSE_FEW_REGISTERS ? 3 : 4;
constexpr std::size_t kMaxWidth = kMaxVectors * HWY_MAX_BYTES / sizeof(float);

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

/// Rows of a matrix, each of as many columns as the panel has.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  HWY_INLINE Rows from(std::int64_t row) const {
    return data == nullptr ? *this : Rows{data + row * stride, stride};
  }
};

/// A part of the depth of one panel and the rows of some tiles.
struct TileRun {
  std::int64_t tiles;
  Rows<const float> input;
  Rows<const float> panel;
  std::int64_t depth;
  float* sums;  ///< [rows, whole vectors of columns], contiguous
  /// What is written and read next, brought into the cache meanwhile, or none.
  Rows<const float> next_output;
  Rows<const float> next_residual;
};

/// sums[r, n] (+)= input[r, 0:depth] . panel[0:depth, n]
template <int kRows, int kVectors, bool kAdd>
HWY_INLINE void sum_tile(const TileRun& tile) {
  const D d;
  const std::int64_t n = lanes();
  const float* HWY_RESTRICT input = tile.input.data;
  const float* HWY_RESTRICT panel = tile.panel.data;
  float* HWY_RESTRICT sums = tile.sums;
  const std::int64_t input_stride = tile.input.stride;
  const std::int64_t panel_stride = tile.panel.stride;
  const std::int64_t depth = tile.depth;
  V sum[kRows][kVectors];
  clear(sum);
  const auto step = [&](std::int64_t k) UNFUSE_LAMBDA {
    multiply_step<kRows, kVectors>(input + k, input_stride, panel, sum);
    panel += panel_stride;
  };
  std::int64_t k = 0;
  if (tile.next_output.data != nullptr) {
    // A line at a time: many at once would hold up the loads.
    for (int r = 0; r < kRows && k + kVectors <= depth; ++r) {
      const float* output = tile.next_output.from(r).data;
      const float* residual = tile.next_residual.from(r).data;
      unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
        hwy::Prefetch(output + v * n);
        hwy::Prefetch(residual + v * n);
        step(k++);
      });
    }
  }
  for (; k < depth; ++k) step(k);
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
      float* to = sums + (r * kVectors + v) * n;
      hn::StoreU(kAdd ? hn::Add(hn::LoadU(d, to), sum[r][v]) : sum[r][v], d, to);
    });
  });
}

template <int kRows, int kVectors, bool kAdd>
void sum_tiles(const TileRun& run) {
  TileRun tile = run;
  for (std::int64_t i = 0; i < run.tiles; ++i) {
    sum_tile<kRows, kVectors, kAdd>(tile);
    tile.input = tile.input.from(kRows);
    tile.sums += kRows * kVectors * lanes();
    tile.next_output = tile.next_output.from(kRows);
    tile.next_residual = tile.next_residual.from(kRows);
  }
}

using TileFunction = void (*)(const TileRun&);

/// The function for 1 to kMaxRows rows.
template <int kVectors, bool kAdd, std::size_t... kIndex>
TileFunction tile_of_rows(std::int64_t rows, std::index_sequence<kIndex...> /*of rows*/) {
  static constexpr TileFunction kFunctions[] = {
      sum_tiles<static_cast<int>(kIndex) + 1, kVectors, kAdd>...};
  return kFunctions[rows - 1];
}

template <bool kAdd>
TileFunction tile_function(std::int64_t rows, std::int64_t vectors) {
  constexpr std::make_index_sequence<kMaxRows> kRows;
  switch (vectors) {
    case 1:
      return tile_of_rows<1, kAdd>(rows, kRows);
    case 2:
      return tile_of_rows<2, kAdd>(rows, kRows);
    case 3:
      return tile_of_rows<3, kAdd>(rows, kRows);
    default:
      return tile_of_rows<kMaxVectors, kAdd>(rows, kRows);
  }
}

template <Epilogue kEpilogue>
HWY_INLINE V activate(V value) {
  const D d;
  if constexpr (kEpilogue == Epilogue::kRelu) {
    // NaN passes, as in PyTorch: it is not below zero.
    const V zero = hn::Zero(d);
    return hn::IfThenElse(hn::Lt(value, zero), zero, value);
  } else if constexpr (kEpilogue == Epilogue::kGelu) {
    return vector_gelu(d, value);
  } else if constexpr (kEpilogue == Epilogue::kGeluTanh) {
    return vector_gelu_tanh(d, value);
  } else if constexpr (kEpilogue == Epilogue::kSilu) {
    return vector_silu(d, value);
  } else {
    return value;
  }
}

/// Alpha, bias, epilogue and residual, and out it goes.
template <Epilogue kEpilogue>
void finish_rows(const PanelBlock& block, const float* bias) {
  const D d;
  const std::int64_t n = lanes();
  const std::int64_t whole = block.columns / n * n;
  const std::int64_t rest = block.columns - whole;
  const V alpha = hn::Set(d, block.alpha);
  const float* sums = block.sums;
  const auto value_at = [&](std::int64_t column) HWY_ATTR {
    const V sum = hn::LoadU(d, sums + column);
    return activate<kEpilogue>(hn::MulAdd(alpha, sum, hn::LoadU(d, bias + column)));
  };
  for (std::int64_t row = 0; row < block.rows; ++row) {
    float* output = block.output + row * block.output_stride;
    if (block.residual == nullptr) {
      for (std::int64_t i = 0; i < whole; i += n) hn::StoreU(value_at(i), d, output + i);
      if (rest > 0) store_partial(d, value_at(whole), rest, output + whole);
    } else {
      const float* residual = block.residual + row * block.residual_stride;
      for (std::int64_t i = 0; i < whole; i += n) {
        hn::StoreU(hn::Add(value_at(i), hn::LoadU(d, residual + i)), d, output + i);
      }
      if (rest > 0) {
        const V added = load_partial(d, residual + whole, rest);
        store_partial(d, hn::Add(value_at(whole), added), rest, output + whole);
      }
    }
    sums += rest > 0 ? whole + n : whole;
  }
}

void finish(const PanelBlock& block) {
  HWY_ALIGN float bias[kMaxWidth] = {};
  if (block.bias != nullptr) {
    std::memcpy(bias, block.bias, static_cast<std::size_t>(block.columns) * sizeof(float));
  }
  switch (block.epilogue) {
    case Epilogue::kNone:
      return finish_rows<Epilogue::kNone>(block, bias);
    case Epilogue::kRelu:
      return finish_rows<Epilogue::kRelu>(block, bias);
    case Epilogue::kGelu:
      return finish_rows<Epilogue::kGelu>(block, bias);
    case Epilogue::kGeluTanh:
      return finish_rows<Epilogue::kGeluTanh>(block, bias);
    case Epilogue::kSilu:
      return finish_rows<Epilogue::kSilu>(block, bias);
  }
}

/// A part of the panel stays in the cache while the rows go by.
void run_panel_block(const PanelBlock& block) {
  const std::int64_t n = lanes();
  const std::int64_t vectors = divide_up(block.columns, n);
  for (std::int64_t k = 0; k < block.depth; k += kPanelDepth) {
    const auto function = k == 0 ? tile_function<false> : tile_function<true>;
    TileRun run;
    run.input = {block.input + k, block.input_stride};
    run.panel = {block.panel + k * block.panel_stride, block.panel_stride};
    run.depth = std::min(kPanelDepth, block.depth - k);
    run.sums = block.sums;
    if (k + kPanelDepth >= block.depth) {
      run.next_output = {block.output, block.output_stride};
      run.next_residual = run.next_output;
      if (block.residual != nullptr) run.next_residual = {block.residual, block.residual_stride};
    }
    run.tiles = block.rows / kMaxRows;
    if (run.tiles > 0) function(kMaxRows, vectors)(run);
    const std::int64_t done = run.tiles * kMaxRows;
    if (done == block.rows) continue;
    run.input = run.input.from(done);
    run.sums += done * vectors * n;
    run.next_output = run.next_output.from(done);
    run.next_residual = run.next_residual.from(done);
    run.tiles = 1;
    function(block.rows - done, vectors)(run);
  }
  finish(block);
}

PanelFunctions panel_functions_here() {
  return {lanes(), kMaxVectors * lanes(), kMaxRows, run_panel_block};
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(panel_functions_here);

PanelFunctions panel_functions() { return HWY_DYNAMIC_DISPATCH(panel_functions_here)(); }

}  // namespace unfuse::cpu
#endif
