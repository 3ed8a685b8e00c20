#include "targets/cpu/kernels/panel_gemm.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/machine_features.h"
#include "targets/cpu/kernels/tile_product.h"
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
  /// In the last part of the depth: what is written and read next is brought into the cache
  /// meanwhile.
  Rows<float> output;
  Rows<const float> residual;
  /// What a tile that goes from registers to the output needs.
  const float* bias = nullptr;  ///< whole vectors
  float alpha = 1;
  float least = 0;  ///< what is below becomes it
};

/// NaN passes, as in PyTorch: it is not below anything.
HWY_INLINE V at_least(V value, float least) {
  const V bound = hn::Set(D(), least);
  return hn::IfThenElse(hn::Lt(value, bound), bound, value);
}

/// sums[r, n] (+)= input[r, 0:depth] . panel[0:depth, n], or what that gives after alpha and bias
/// to the output.
template <class Step, int kRows, int kVectors, bool kAdd, bool kToOutput>
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
    multiply_step<Step, kRows, kVectors>(input + k, input_stride, panel, sum);
    panel += panel_stride;
  };
  std::int64_t k = 0;
  if (tile.output.data != nullptr) {
    // A line at a time: many at once would hold up the loads.
    for (int r = 0; r < kRows && k + kVectors <= depth; ++r) {
      const float* output = tile.output.from(r).data;
      const float* residual = tile.residual.from(r).data;
      unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
        hwy::Prefetch(output + v * n);
        if (residual != nullptr) hwy::Prefetch(residual + v * n);
        step(k++);
      });
    }
  }
  for (; k < depth; ++k) step(k);
  unroll<kRows>([&](auto r) UNFUSE_LAMBDA {
    unroll<kVectors>([&](auto v) UNFUSE_LAMBDA {
      float* to = sums + (r * kVectors + v) * n;
      V value = kAdd ? hn::Add(hn::LoadU(d, to), sum[r][v]) : sum[r][v];
      if constexpr (kToOutput) {
        value = hn::MulAdd(hn::Set(d, tile.alpha), value, hn::LoadU(d, tile.bias + v * n));
        value = at_least(value, tile.least);
        to = tile.output.data + r * tile.output.stride + v * n;
      }
      hn::StoreU(value, d, to);
    });
  });
}

template <class Step, int kRows, int kVectors, bool kAdd, bool kToOutput>
void sum_tiles(const TileRun& run) {
  TileRun tile = run;
  for (std::int64_t i = 0; i < run.tiles; ++i) {
    sum_tile<Step, kRows, kVectors, kAdd, kToOutput>(tile);
    tile.input = tile.input.from(kRows);
    tile.sums += kRows * kVectors * lanes();
    tile.output = tile.output.from(kRows);
    tile.residual = tile.residual.from(kRows);
  }
}

using TileFunction = void (*)(const TileRun&);

/// The function for 1 to kMaxRows rows.
template <class Step, int kVectors, bool kAdd, bool kToOutput, std::size_t... kIndex>
TileFunction tile_of_rows(std::int64_t rows, std::index_sequence<kIndex...> /*of rows*/) {
  static constexpr TileFunction kFunctions[] = {
      sum_tiles<Step, static_cast<int>(kIndex) + 1, kVectors, kAdd, kToOutput>...};
  return kFunctions[rows - 1];
}

template <class Step, bool kAdd>
TileFunction tile_to_sums(std::int64_t rows, std::int64_t vectors) {
  constexpr std::make_index_sequence<kMaxRows> kRows;
  switch (vectors) {
    case 1:
      return tile_of_rows<Step, 1, kAdd, false>(rows, kRows);
    case 2:
      return tile_of_rows<Step, 2, kAdd, false>(rows, kRows);
    case 3:
      return tile_of_rows<Step, 3, kAdd, false>(rows, kRows);
    default:
      return tile_of_rows<Step, kMaxVectors, kAdd, false>(rows, kRows);
  }
}

template <class Step, bool kAdd>
TileFunction tile_to_output(std::int64_t rows, std::int64_t /*vectors: the most there are*/) {
  return tile_of_rows<Step, kMaxVectors, kAdd, true>(rows, std::make_index_sequence<kMaxRows>());
}

template <Epilogue kEpilogue>
HWY_INLINE V activate(V value) {
  const D d;
  if constexpr (kEpilogue == Epilogue::kRelu) {
    return at_least(value, 0);
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

void finish(const PanelBlock& block, const float* bias) {
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

/// Whether tiles may go from registers to the output: full ones of which little is wanted. (One row
/// by itself, which waits for the weights, was 6 % slower so.)
bool goes_to_output(const PanelBlock& block) {
  const bool is_simple = block.epilogue == Epilogue::kNone || block.epilogue == Epilogue::kRelu;
  return is_simple && block.residual == nullptr && block.rows >= kMaxRows &&
         block.columns == kMaxVectors * lanes();
}

/// All rows, in tiles of nearly equal height: a low one waits for the panel.
void run_rows(TileRun run, std::int64_t rows, std::int64_t vectors,
              TileFunction (*function)(std::int64_t, std::int64_t)) {
  const std::int64_t tiles = divide_up(rows, kMaxRows);
  const std::int64_t low = rows / tiles;
  const std::int64_t high_tiles = rows - low * tiles;
  run.tiles = high_tiles;
  if (high_tiles > 0) function(low + 1, vectors)(run);
  const std::int64_t done = high_tiles * (low + 1);
  run.tiles = tiles - high_tiles;
  run.input = run.input.from(done);
  run.sums += done * vectors * lanes();
  run.output = run.output.from(done);
  run.residual = run.residual.from(done);
  function(low, vectors)(run);
}

/// The bias in whole vectors, zeros if there is none.
HWY_INLINE void copy_bias(const PanelBlock& block, float (&bias)[kMaxWidth]) {
  std::fill_n(bias, kMaxWidth, 0.0f);
  if (block.bias == nullptr) return;
  std::memcpy(bias, block.bias, static_cast<std::size_t>(block.columns) * sizeof(float));
}

/// A part of the panel stays in the cache while the rows go by.
template <class Step>
void run_panel_block(const PanelBlock& block) {
  if (block.rows == 0) return;
  const std::int64_t vectors = divide_up(block.columns, lanes());
  HWY_ALIGN float bias[kMaxWidth];
  copy_bias(block, bias);
  TileRun run = {};
  run.sums = block.sums;
  std::int64_t k = 0;
  for (; k < block.depth; k += kPanelDepth) {
    run.input = {block.input + k, block.input_stride};
    run.panel = {block.panel + k * block.panel_stride, block.panel_stride};
    run.depth = std::min(kPanelDepth, block.depth - k);
    if (k + kPanelDepth >= block.depth) break;
    run_rows(run, block.rows, vectors,
             k == 0 ? tile_to_sums<Step, false> : tile_to_sums<Step, true>);
  }
  run.output = {block.output, block.output_stride};
  run.residual = {block.residual, block.residual_stride};
  if (goes_to_output(block)) {
    run.bias = bias;
    run.alpha = block.alpha;
    run.least = block.epilogue == Epilogue::kRelu ? 0 : -std::numeric_limits<float>::infinity();
    run_rows(run, block.rows, vectors,
             k == 0 ? tile_to_output<Step, false> : tile_to_output<Step, true>);
    return;
  }
  run_rows(run, block.rows, vectors, k == 0 ? tile_to_sums<Step, false> : tile_to_sums<Step, true>);
  finish(block, bias);
}

#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
TileProduct whole_product(const PanelBlock& block) {
  TileProduct product;
  product.left = block.input;
  product.left_stride = block.input_stride;
  product.rows = block.rows;
  product.right = block.panel;
  product.right_stride = block.panel_stride;
  product.columns = round_up(block.columns, lanes());
  product.depth = block.depth;
  product.sums = block.sums;
  product.sums_stride = product.columns;
  return product;
}

void finish_on_tiles(const PanelBlock& block) {
  HWY_ALIGN float bias[kMaxWidth];
  copy_bias(block, bias);
  finish(block, bias);
}

void run_panel_block_on_tiles(const PanelBlock& block) {
  if (block.rows == 0) return;
  multiply_tiles(TileRegisters(), whole_product(block));
  finish_on_tiles(block);
}

/// The small products first: what they sum up to is not lost beside the large one.
void run_split_panel_block(const PanelBlock& block) {
  if (block.rows == 0) return;
  const TileRegisters registers;
  TileProduct product = whole_product(block);
  product.right += block.depth * block.panel_stride;
  product.left += 2 * block.depth;
  multiply_tiles(registers, product);  // finite high parts x low parts
  product.adds = true;
  product.right = block.panel;
  product.left = block.input + block.depth;
  multiply_tiles(registers, product);  // low parts x high parts
  product.left = block.input;
  multiply_tiles(registers, product);
  finish_on_tiles(block);
}
#endif

PanelFunctions panel_functions_here() {
  PanelFunctions functions = {lanes(), kMaxVectors * lanes(), kMaxRows,
                              run_panel_block<Float32Step>};
#if UNFUSE_MAYBE_BFLOAT16_PRODUCTS
  if (has_bfloat16_products()) functions.run_bfloat16 = run_panel_block<BFloat16Step>;
  if (has_tile_products()) {
    functions.run_bfloat16_tiles = run_panel_block_on_tiles;
    functions.run_split_tiles = run_split_panel_block;
  }
#endif
  return functions;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(panel_functions_here);

PanelFunctions panel_functions() { return HWY_DYNAMIC_DISPATCH(panel_functions_here)(); }

}  // namespace unfuse::cpu
#endif
