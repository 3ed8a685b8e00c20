#include "targets/cpu/kernels/panel_gemm.h"

#include <algorithm>
#include <cstring>

#include "targets/cpu/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/panel_gemm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "targets/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Registers: rows x vectors sums, `vectors` weights and a broadcast. 32 vector registers hold
// 8 x 3, the 16 of AVX2 4 x 3.
#undef UNFUSE_PANEL_ROWS
#if UNFUSE_FEW_REGISTERS
#define UNFUSE_PANEL_ROWS 4
#else
#define UNFUSE_PANEL_ROWS 8
#endif
constexpr int kMaxRows = UNFUSE_PANEL_ROWS;
constexpr int kVectors = 3;
constexpr std::size_t kMaxWidth = kVectors * HWY_MAX_BYTES / sizeof(float);

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

/// sums[r, n] (+)= input[r, 0:depth] . panel[0:depth, n] for kRows rows and one full panel.
template <int kRows>
HWY_INLINE void add_part(const float* HWY_RESTRICT input, std::int64_t input_stride,
                         const float* HWY_RESTRICT panel, std::int64_t depth, bool first,
                         float* HWY_RESTRICT sums) {
  const D d;
  const std::int64_t n = lanes();
  V sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* row = panel + k * kVectors * n;
    const V weight0 = hn::LoadU(d, row);
    const V weight1 = hn::LoadU(d, row + n);
    const V weight2 = hn::LoadU(d, row + 2 * n);
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, input[r * input_stride + k]);
      sum[r][0] = hn::MulAdd(x, weight0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x, weight1, sum[r][1]);
      sum[r][2] = hn::MulAdd(x, weight2, sum[r][2]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* to = sums + (r * kVectors + v) * n;
      hn::StoreU(first ? sum[r][v] : hn::Add(sum[r][v], hn::LoadU(d, to)), d, to);
    }
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

/// Bias, epilogue and residual of `rows` rows from `row` on, and out they go.
template <Epilogue kEpilogue>
void finish(const PanelTile& tile, std::int64_t row, int rows, const float* bias, float* sums) {
  const D d;
  const std::int64_t n = lanes();
  const bool full = tile.columns == kVectors * n;
  const std::size_t bytes = static_cast<std::size_t>(tile.columns) * sizeof(float);
  HWY_ALIGN float padded[kMaxWidth] = {};
  for (int r = 0; r < rows; ++r) {
    float* output = tile.output + (row + r) * tile.output_stride;
    float* sum = sums + r * kVectors * n;
    float* to = full ? output : sum;
    const float* residual = nullptr;
    if (tile.residual != nullptr) {
      residual = tile.residual + (row + r) * tile.residual_stride;
      if (!full) residual = static_cast<float*>(std::memcpy(padded, residual, bytes));
    }
    for (int v = 0; v < kVectors; ++v) {
      V value = hn::Add(hn::LoadU(d, sum + v * n), hn::LoadU(d, bias + v * n));
      value = activate<kEpilogue>(value);
      if (residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + v * n));
      hn::StoreU(value, d, to + v * n);
    }
    if (!full) std::memcpy(output, sum, bytes);
  }
}

void finish_any(const PanelTile& tile, std::int64_t row, int rows, const float* bias, float* sums) {
  switch (tile.epilogue) {
    case Epilogue::kNone:
      return finish<Epilogue::kNone>(tile, row, rows, bias, sums);
    case Epilogue::kRelu:
      return finish<Epilogue::kRelu>(tile, row, rows, bias, sums);
    case Epilogue::kGelu:
      return finish<Epilogue::kGelu>(tile, row, rows, bias, sums);
    case Epilogue::kGeluTanh:
      return finish<Epilogue::kGeluTanh>(tile, row, rows, bias, sums);
    case Epilogue::kSilu:
      return finish<Epilogue::kSilu>(tile, row, rows, bias, sums);
  }
}

template <int kRows>
void run_panel_rows(const PanelTile& tile, std::int64_t row, const float* bias) {
  HWY_ALIGN float sums[kRows * kMaxWidth];
  const float* input = tile.input + row * tile.input_stride;
  for (std::int64_t k = 0; k < tile.depth; k += kPanelDepth) {
    add_part<kRows>(input + k, tile.input_stride, tile.panel + k * kVectors * lanes(),
                    std::min(kPanelDepth, tile.depth - k), k == 0, sums);
  }
  finish_any(tile, row, kRows, bias, sums);
}

void run_remaining_panel_rows(const PanelTile& tile, std::int64_t row, const float* bias) {
  switch (tile.rows - row) {
    case 1:
      return run_panel_rows<1>(tile, row, bias);
    case 2:
      return run_panel_rows<2>(tile, row, bias);
    case 3:
      return run_panel_rows<3>(tile, row, bias);
#if UNFUSE_PANEL_ROWS > 4
    case 4:
      return run_panel_rows<4>(tile, row, bias);
    case 5:
      return run_panel_rows<5>(tile, row, bias);
    case 6:
      return run_panel_rows<6>(tile, row, bias);
    case 7:
      return run_panel_rows<7>(tile, row, bias);
#endif
    default:
      return;
  }
}

void run_panel_tile(const PanelTile& tile) {
  HWY_ALIGN float bias[kMaxWidth] = {};
  if (tile.bias != nullptr) {
    std::memcpy(bias, tile.bias, static_cast<std::size_t>(tile.columns) * sizeof(float));
  }
  std::int64_t row = 0;
  for (; row + kMaxRows <= tile.rows; row += kMaxRows) run_panel_rows<kMaxRows>(tile, row, bias);
  run_remaining_panel_rows(tile, row, bias);
}

PanelFunctions panel_functions_here() { return {kVectors * lanes(), run_panel_tile}; }

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(panel_functions_here);

PanelFunctions panel_functions() { return HWY_DYNAMIC_DISPATCH(panel_functions_here)(); }

}  // namespace unfuse::cpu
#endif
