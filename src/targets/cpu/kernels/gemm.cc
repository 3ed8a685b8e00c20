#include "targets/cpu/kernels/gemm.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/bfloat16_rows.h"
#include "targets/cpu/kernels/empty_product.h"
#include "targets/cpu/kernels/panel_gemm.h"
#include "targets/cpu/kernels/panel_pack.h"
#include "targets/cpu/kernels/product_split.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/kernels/tile_product.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

bool is_packable(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

/// The weight's transpose [K, N] in panels.
class PanelWeight final : public Packed {
 public:
  PanelWeight(std::int64_t in_features, std::int64_t out_features, Packing packing)
      : in_features_(in_features),
        packing_(packing),
        layout_(weight_row_size(packing, in_features), out_features),
        buffer_(static_cast<std::size_t>(layout_.size()) * sizeof(float)) {}

  std::size_t bytes() const override { return buffer_.bytes(); }
  bool is_for(std::int64_t in_features, std::int64_t out_features, Packing packing) const {
    return in_features == in_features_ && out_features == layout_.columns() && packing == packing_;
  }
  const float* panel(std::int64_t index) const {
    return reinterpret_cast<const float*>(buffer_.data()) + layout_.offset(index);
  }

  /// `weight` is [N, K].
  void pack(const OperandSpec& weight, const void* data, int threads) {
    const bool in_place = packing_ == Packing::kFloat32 && weight.dtype == DType::kFloat32 &&
                          (weight.strides[0] == 1 || weight.strides[1] == 1);
    parallel_for(threads, layout_.panels(), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> rows(in_place ? 0 : static_cast<std::size_t>(layout_.largest_panel()));
      for (std::int64_t index = begin; index < end; ++index) {
        StridedMatrix from = {static_cast<const float*>(data), weight.strides[1],
                              weight.strides[0]};
        if (!in_place) from = converted(weight, data, index, rows.data());
        layout_.pack(index, from, mutable_panel(index));
      }
    });
  }

 private:
  float* mutable_panel(std::int64_t index) {
    return reinterpret_cast<float*>(buffer_.data()) + layout_.offset(index);
  }

  /// The rows of the weight that are the columns of a panel, as the panel's contiguous elements.
  StridedMatrix converted(const OperandSpec& weight, const void* data, std::int64_t index,
                          float* rows) const {
    const LoadFunction load = load_function(weight.dtype, RegisterType::kFloat32);
    const bool narrow = packing_ != Packing::kFloat32;
    std::vector<float> wide(narrow ? static_cast<std::size_t>(in_features_) : 0);
    const std::int64_t first = layout_.first_column(index);
    for (std::int64_t n = 0; n < layout_.columns_of(index); ++n) {
      const auto offset = static_cast<std::ptrdiff_t>(
          (first + n) * weight.strides[0] * static_cast<std::int64_t>(dtype_size(weight.dtype)));
      float* row = rows + n * layout_.depth();
      load(static_cast<const std::byte*>(data) + offset, weight.strides[1], in_features_,
           narrow ? wide.data() : row);
      if (narrow) store_weight_row(packing_, wide.data(), in_features_, row);
    }
    return {rows - first * layout_.depth(), 1, layout_.depth()};
  }

  std::int64_t in_features_;
  Packing packing_;
  PanelLayout layout_;
  AlignedBuffer buffer_;
};

class PackedLinearKernel final : public Kernel {
 public:
  explicit PackedLinearKernel(const PackedLinearSpec& spec)
      : rows_(spec.output.numel() / spec.out_features),
        in_features_(spec.input.sizes.back()),
        packing_(packing_of(spec.products)),
        layout_(weight_row_size(packing_, in_features_), spec.out_features),
        run_(layout_.functions().of(spec.products)),
        split_(rows_, layout_, spec.products, spec.threads, 1),
        input_stride_(leading_stride(spec.input, 1)),
        output_stride_(leading_stride(spec.output, 1)),
        has_bias_(spec.has_bias),
        has_residual_(spec.residual.has_value()),
        residual_stride_(has_residual_ ? leading_stride(*spec.residual, 1) : 0),
        epilogue_(spec.epilogue),
        counted_rows_(spec.counted_rows),
        threads_(spec.threads) {}

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * scratch_of_thread() * sizeof(float);
  }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    if (counted_rows_) {
      const std::int64_t rows = counted_part(rows_, *counted_rows_, operands.front());
      return run_rows(operands.subspan(1), scratch, split_.of_rows(rows));
    }
    run_rows(operands, scratch, split_);
  }

 private:
  void run_rows(std::span<void* const> operands, std::byte* scratch,
                const ProductSplit& split) const {
    const auto& weight = static_cast<const PanelWeight&>(packed_from_operand(operands[1]));
    require(weight.is_for(in_features_, layout_.columns(), packing_), "packed linear",
            "a weight that was packed for other sizes");
    PanelBlock whole;
    whole.input = static_cast<const float*>(operands.front());
    whole.input_stride = input_stride_;
    whole.depth = part_size(packing_, in_features_);
    if (has_bias_) whole.bias = static_cast<const float*>(operands[2]);
    whole.epilogue = epilogue_;
    if (has_residual_) whole.residual = static_cast<const float*>(operands[operands.size() - 2]);
    whole.residual_stride = residual_stride_;
    whole.output = static_cast<float*>(operands.back());
    whole.output_stride = output_stride_;
    parallel_for(threads_, split.parts(), 1, [&](std::int64_t begin, std::int64_t end) {
      PanelBlock block = whole;
      block.sums = reinterpret_cast<float*>(scratch) +
                   static_cast<std::size_t>(thread_index()) * scratch_of_thread();
      for (std::int64_t part = begin; part < end; ++part) run_part(weight, split, part, block);
    });
  }

  /// Rows that there is scratch for.
  std::int64_t rows_of_scratch() const { return round_up(split_.rows_at_once(), kTile); }

  std::int64_t sums_size() const { return rows_of_scratch() * layout_.functions().width; }

  /// Rows at distances of a power of two would share cache sets.
  std::int64_t rounded_stride() const { return input_row_size(packing_, in_features_) + kTile; }

  /// Sums, and rows that were rounded.
  std::size_t scratch_of_thread() const {
    const std::int64_t rounded =
        packing_ != Packing::kFloat32 ? rows_of_scratch() * rounded_stride() : 0;
    return static_cast<std::size_t>(sums_size() + rounded);
  }

  void run_part(const PanelWeight& weight, const ProductSplit& split, std::int64_t part,
                const PanelBlock& whole) const {
    const IndexRange rows = split.rows_of(part);
    const IndexRange panels = split.panels_of(part);
    for (std::int64_t row = rows.begin; row < rows.end; row += split.rows_at_once()) {
      const std::int64_t count = std::min(split.rows_at_once(), rows.end - row);
      PanelBlock rows_block = cut(whole, row, count);
      if (packing_ != Packing::kFloat32) round_input(rows_block);
      for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
        PanelBlock block = from_column(rows_block, layout_.first_column(panel));
        block.panel = weight.panel(panel);
        block.panel_stride = layout_.row_stride(panel);
        block.columns = layout_.columns_of(panel);
        run_(block);
      }
    }
  }

  /// Some of the rows.
  static PanelBlock cut(PanelBlock block, std::int64_t row, std::int64_t rows) {
    block.input += row * block.input_stride;
    block.rows = rows;
    if (block.residual != nullptr) block.residual += row * block.residual_stride;
    block.output += row * block.output_stride;
    return block;
  }

  static PanelBlock from_column(PanelBlock block, std::int64_t column) {
    if (block.bias != nullptr) block.bias += column;
    if (block.residual != nullptr) block.residual += column;
    block.output += column;
    return block;
  }

  /// Once for all panels.
  void round_input(PanelBlock& block) const {
    float* rounded = block.sums + sums_size();
    for (std::int64_t row = 0; row < block.rows; ++row) {
      store_input_row(packing_, block.input + row * block.input_stride, in_features_,
                      rounded + row * rounded_stride());
    }
    block.input = rounded;
    block.input_stride = rounded_stride();
  }

  std::int64_t rows_;
  std::int64_t in_features_;
  Packing packing_;
  PanelLayout layout_;
  void (*run_)(const PanelBlock&);
  ProductSplit split_;
  std::int64_t input_stride_;
  std::int64_t output_stride_;
  bool has_bias_;
  bool has_residual_;
  std::int64_t residual_stride_;
  Epilogue epilogue_;
  std::optional<std::int64_t> counted_rows_;
  int threads_;
};

}  // namespace

bool has_products(Products products) { return panel_functions().of(products) != nullptr; }

Products bfloat16_products() {
  return has_products(Products::kBFloat16Tiles) ? Products::kBFloat16Tiles : Products::kBFloat16;
}

PackedPtr pack_linear_weight(const OperandSpec& weight, const void* data, Packing packing,
                             int threads) {
  require(weight.rank() == 2, "packed linear", "a weight that is not of rank 2");
  require(is_packable(weight.dtype), "packed linear",
          "a weight that is not float32, float16 or bfloat16");
  auto packed = std::make_shared<PanelWeight>(weight.sizes[1], weight.sizes[0], packing);
  if (weight.numel() != 0) packed->pack(weight, data, threads);
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
  require(has_products(spec.products), kName, "products that this machine does not have");
  Sizes expected = spec.input.sizes;
  expected.back() = spec.out_features;
  require(spec.output.sizes == expected, kName, "sizes do not fit");
  if (spec.residual) {
    require(packed_linear_reads(*spec.residual), kName, "a residual of strides it does not take");
    require(spec.residual->sizes == expected, kName, "the residual's sizes do not fit");
  }
  if (spec.output.numel() == 0 || spec.input.numel() == 0) {
    require(!spec.counted_rows, kName, "counted rows of an empty product");
    return select_empty_product(spec.epilogue, spec.output, spec.has_bias, spec.residual,
                                spec.threads);
  }
  return std::make_unique<PackedLinearKernel>(spec);
}

}  // namespace unfuse::cpu
