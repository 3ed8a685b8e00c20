#include "targets/cpu/kernels/gemm.h"

#include <algorithm>
#include <memory>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/epilogue.h"
#include "targets/cpu/kernels/panel_gemm.h"
#include "targets/cpu/kernels/widen_weight.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// The weight's transpose [K, N] in panels of some columns, each panel row after row, the last one
/// filled up with zeros. Remembers the functions that its width belongs to.
class PanelWeight final : public Packed {
 public:
  PanelWeight(std::int64_t in_features, std::int64_t out_features)
      : functions_(panel_functions()),
        in_features_(in_features),
        out_features_(out_features),
        buffer_(static_cast<std::size_t>(panels() * panel_elements()) * sizeof(float)) {}

  std::size_t bytes() const override { return buffer_.bytes(); }
  const PanelFunctions& functions() const { return functions_; }
  std::int64_t in_features() const { return in_features_; }
  std::int64_t out_features() const { return out_features_; }
  std::int64_t panels() const { return divide_up(out_features_, functions_.width); }
  const float* panel(std::int64_t index) const {
    return reinterpret_cast<const float*>(buffer_.data()) + index * panel_elements();
  }

  /// `weight` is [N, K], contiguous.
  void pack(const float* weight, int threads) {
    parallel_for(threads, panels(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t index = begin; index < end; ++index) pack_panel(weight, index);
    });
  }

 private:
  std::int64_t panel_elements() const { return in_features_ * functions_.width; }

  void pack_panel(const float* weight, std::int64_t index) {
    const std::int64_t width = functions_.width;
    float* to = reinterpret_cast<float*>(buffer_.data()) + index * panel_elements();
    const std::int64_t used = std::min(width, out_features_ - index * width);
    if (used < width) std::fill(to, to + panel_elements(), 0.0F);
    for (std::int64_t n = 0; n < used; ++n) {
      const float* from = weight + (index * width + n) * in_features_;
      for (std::int64_t k = 0; k < in_features_; ++k) to[k * width + n] = from[k];
    }
  }

  PanelFunctions functions_;
  std::int64_t in_features_;
  std::int64_t out_features_;
  AlignedBuffer buffer_;
};

/// Rows that one task takes: enough for a panel read from the outer caches to pay, few enough for
/// the rows themselves to stay in them, and for each thread to get several tasks.
std::int64_t rows_of_task(std::int64_t rows, int threads) {
  constexpr std::int64_t kFewest = 8;
  constexpr std::int64_t kMost = 96;
  const std::int64_t share = divide_up(rows, std::int64_t{threads} * 2);
  return std::clamp(divide_up(share, kFewest) * kFewest, kFewest, kMost);
}

class PackedLinearKernel final : public Kernel {
 public:
  explicit PackedLinearKernel(const PackedLinearSpec& spec)
      : rows_(spec.output.numel() / spec.out_features),
        in_features_(spec.input.sizes.back()),
        out_features_(spec.out_features),
        input_stride_(leading_stride(spec.input, 1)),
        output_stride_(leading_stride(spec.output, 1)),
        has_bias_(spec.has_bias),
        has_residual_(spec.residual.has_value()),
        residual_stride_(has_residual_ ? leading_stride(*spec.residual, 1) : 0),
        epilogue_(spec.epilogue),
        threads_(spec.threads) {}

  void run(std::span<void* const> operands, std::byte*) const override {
    const auto& weight = static_cast<const PanelWeight&>(packed_from_operand(operands[1]));
    require(weight.in_features() == in_features_ && weight.out_features() == out_features_,
            "packed linear", "a weight that was packed for other sizes");
    Operands given;
    given.input = static_cast<const float*>(operands.front());
    given.output = static_cast<float*>(operands.back());
    if (has_bias_) given.bias = static_cast<const float*>(operands[2]);
    if (has_residual_) {
      given.residual = static_cast<const float*>(operands[operands.size() - 2]);
    }
    multiply(weight, given);
  }

 private:
  struct Operands {
    const float* input = nullptr;
    const float* bias = nullptr;
    const float* residual = nullptr;
    float* output = nullptr;
  };

  /// Tasks are row blocks; where there are too few rows for all threads, panels.
  void multiply(const PanelWeight& weight, const Operands& given) const {
    const std::int64_t block = rows_of_task(rows_, threads_);
    const std::int64_t blocks = divide_up(rows_, block);
    const std::int64_t groups = blocks >= threads_ ? 1 : weight.panels();
    const std::int64_t panels = weight.panels() / groups;
    parallel_for(threads_, blocks * groups, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t row = task / groups * block;
        const std::int64_t first = task % groups * panels;
        for (std::int64_t panel = first; panel < first + panels; ++panel) {
          run_block(weight, panel, row, std::min(block, rows_ - row), given);
        }
      }
    });
  }

  void run_block(const PanelWeight& weight, std::int64_t panel, std::int64_t row, std::int64_t rows,
                 const Operands& given) const {
    const std::int64_t column = panel * weight.functions().width;
    PanelTile tile;
    tile.input = given.input + row * input_stride_;
    tile.input_stride = input_stride_;
    tile.rows = rows;
    tile.panel = weight.panel(panel);
    tile.depth = in_features_;
    tile.bias = has_bias_ ? given.bias + column : nullptr;
    tile.epilogue = epilogue_;
    if (has_residual_) tile.residual = given.residual + row * residual_stride_ + column;
    tile.residual_stride = residual_stride_;
    tile.output = given.output + row * output_stride_ + column;
    tile.output_stride = output_stride_;
    tile.columns = std::min(weight.functions().width, out_features_ - column);
    weight.functions().run(tile);
  }

  std::int64_t rows_;
  std::int64_t in_features_;
  std::int64_t out_features_;
  std::int64_t input_stride_;
  std::int64_t output_stride_;
  bool has_bias_;
  bool has_residual_;
  std::int64_t residual_stride_;
  Epilogue epilogue_;
  int threads_;
};

}  // namespace

PackedPtr pack_linear_weight(const OperandSpec& weight, const void* data, int threads) {
  require(weight.rank() == 2, "packed linear", "a weight that is not of rank 2");
  auto packed = std::make_shared<PanelWeight>(weight.sizes[1], weight.sizes[0]);
  if (weight.numel() == 0) return packed;
  const AlignedBuffer wide = widen_weight(weight, data, threads);
  packed->pack(reinterpret_cast<const float*>(wide.data()), threads);
  return packed;
}

bool packed_linear_reads(const OperandSpec& rows) {
  if (rows.dtype != DType::kFloat32 || rows.rank() < 1) return false;
  return trailing_dims_contiguous(rows, 1) && leading_dims_collapse(rows, 1);
}

bool packed_linear_writes(const OperandSpec& rows) {
  if (!packed_linear_reads(rows)) return false;
  const bool single_row = rows.numel() == 0 || rows.numel() == rows.sizes.back();
  return single_row || leading_stride(rows, 1) >= rows.sizes.back();
}

KernelPtr select_packed_linear(const PackedLinearSpec& spec) {
  constexpr const char* kName = "packed linear";
  require(packed_linear_reads(spec.input), kName, "an input of strides that it does not take");
  require(packed_linear_writes(spec.output), kName, "an output of strides that it does not take");
  Sizes expected = spec.input.sizes;
  expected.back() = spec.out_features;
  require(spec.output.sizes == expected, kName, "sizes do not fit");
  if (spec.residual) {
    require(packed_linear_reads(*spec.residual), kName, "a residual of strides it does not take");
    require(spec.residual->sizes == expected, kName, "the residual's sizes do not fit");
  }
  if (spec.output.numel() == 0 || spec.input.numel() == 0) {
    return select_empty_product(spec.epilogue, spec.output, spec.has_bias, spec.residual,
                                spec.threads);
  }
  return std::make_unique<PackedLinearKernel>(spec);
}

}  // namespace unfuse::cpu
