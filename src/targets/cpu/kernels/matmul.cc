// select_matmul of gemm.h: the panels of b are packed as they are needed.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "targets/cpu/kernels/empty_product.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/panel_gemm.h"
#include "targets/cpu/kernels/panel_pack.h"
#include "targets/cpu/kernels/product_split.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

Sizes batch_dims(const Sizes& values) { return Sizes(values.begin(), values.end() - 2); }

/// The last two dims, and their strides. A dim of size 1 has stride 1: nobody walks along it.
struct Matrix {
  explicit Matrix(const OperandSpec& spec)
      : rows(spec.sizes[spec.sizes.size() - 2]),
        columns(spec.sizes.back()),
        row_stride(rows == 1 ? 1 : spec.strides[spec.strides.size() - 2]),
        column_stride(columns == 1 ? 1 : spec.strides.back()) {}

  std::int64_t rows, columns, row_stride, column_stride;
};

/// Threads that one product of a batch is shared among: as few as keep all of them busy.
int threads_of_one(std::int64_t batch, int threads) {
  const auto exact = static_cast<std::int64_t>(threads) / std::gcd(batch, std::int64_t{threads});
  const std::int64_t enough = divide_up(4 * threads, batch);
  return static_cast<int>(std::min(exact, enough));
}

class MatmulKernel final : public Kernel {
 public:
  /// `batch`: of a, b and the output.
  MatmulKernel(const MatmulSpec& spec, LoopNest batch)
      : a_(spec.a),
        b_(spec.b),
        output_(spec.output),
        batch_(std::move(batch)),
        products_(std::accumulate(batch_.sizes.begin(), batch_.sizes.end(), std::int64_t{1},
                                  std::multiplies<>())),
        threads_(useful_threads(spec.output.numel() * a_.columns, spec.threads)),
        layout_(a_.columns, b_.columns),
        split_(a_.rows, layout_, Products::kFloat32, threads_of_one(products_, threads_),
               kPackingCost),
        has_bias_(spec.has_bias),
        alpha_(spec.alpha) {}

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * scratch_size() * sizeof(float);
  }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    parallel_for(threads_, products_ * split_.parts(), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   float* own = reinterpret_cast<float*>(scratch) +
                                static_cast<std::size_t>(thread_index()) * scratch_size();
                   for (std::int64_t i = begin; i < end; ++i) {
                     run_part(operands, i / split_.parts(), i % split_.parts(), own);
                   }
                 });
  }

 private:
  static constexpr std::int64_t kPackingCost = 2;
  /// Where fewer rows read a panel, packing it does not pay.
  static constexpr std::int64_t kFewRows = 8;

  /// A thread's own, in whole cache lines: sums, and a panel of b.
  std::size_t scratch_size() const {
    constexpr std::int64_t kLine = 16;
    const std::int64_t size = sums_size() + layout_.largest_panel();
    return static_cast<std::size_t>(round_up(size, kLine));
  }
  std::int64_t sums_size() const { return split_.rows_at_once() * layout_.functions().width; }

  void run_part(std::span<void* const> operands, std::int64_t product, std::int64_t part,
                float* scratch) const {
    const auto matrix = [&](std::size_t operand, void* data) {
      return static_cast<float*>(data) +
             RowWalker(batch_.sizes, batch_.strides[operand], product).offset();
    };
    const float* a = matrix(0, operands[0]);
    const float* b = matrix(1, operands[1]);
    float* output = matrix(2, operands.back());
    PanelBlock block;
    block.input_stride = a_.row_stride;
    block.depth = a_.columns;
    block.alpha = alpha_;
    block.output_stride = output_.row_stride;
    block.sums = scratch;
    const IndexRange rows = split_.rows_of(part);
    const IndexRange panels = split_.panels_of(part);
    for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const std::int64_t column = layout_.first_column(panel);
      block.columns = layout_.columns_of(panel);
      if (has_bias_) block.bias = static_cast<const float*>(operands[2]) + column;
      set_panel(b, panel, scratch + sums_size(), block);
      for (std::int64_t row = rows.begin; row < rows.end; row += split_.rows_at_once()) {
        block.rows = std::min(split_.rows_at_once(), rows.end - row);
        block.output = output + row * output_.row_stride + column;
        block.input = a + row * a_.row_stride;
        layout_.functions().run(block);
      }
    }
  }

  void set_panel(const float* b, std::int64_t panel, float* packed, PanelBlock& block) const {
    const bool whole_vectors = layout_.columns_of(panel) == layout_.row_stride(panel);
    if (b_.column_stride == 1 && whole_vectors && a_.rows <= kFewRows) {
      block.panel = b + layout_.first_column(panel);
      block.panel_stride = b_.row_stride;
      return;
    }
    layout_.pack(panel, {b, b_.row_stride, b_.column_stride}, packed);
    block.panel = packed;
    block.panel_stride = layout_.row_stride(panel);
  }

  Matrix a_;
  Matrix b_;
  Matrix output_;
  LoopNest batch_;
  std::int64_t products_;
  int threads_;
  PanelLayout layout_;
  ProductSplit split_;
  bool has_bias_;
  float alpha_;
};

/// [..., M, K] x [K, N]: the batch dims of `a` are more rows, if it and the output let them.
bool rows_absorb_batch(const MatmulSpec& spec) {
  const Sizes batch_strides = batch_dims(spec.b.strides);
  const bool b_is_one_matrix = std::all_of(batch_strides.begin(), batch_strides.end(),
                                           [](std::int64_t stride) { return stride == 0; });
  return b_is_one_matrix && spec.a.rank() > 2 && packed_linear_reads(spec.a) &&
         packed_linear_writes(spec.output);
}

MatmulSpec absorbed(const MatmulSpec& spec) {
  const std::int64_t depth = spec.a.sizes.back();
  const std::int64_t columns = spec.output.sizes.back();
  const std::int64_t rows = spec.output.numel() / columns;
  MatmulSpec flat = spec;
  flat.a.sizes = {rows, depth};
  flat.a.strides = {leading_stride(spec.a, 1), 1};
  flat.b.sizes.erase(flat.b.sizes.begin(), flat.b.sizes.end() - 2);
  flat.b.strides.erase(flat.b.strides.begin(), flat.b.strides.end() - 2);
  flat.output.sizes = {rows, columns};
  flat.output.strides = {leading_stride(spec.output, 1), 1};
  return flat;
}

/// Rows that are contiguous and do not overlap.
bool is_list_of_rows(const OperandSpec& spec) {
  if (!trailing_dims_contiguous(spec, 1) || spec.numel() == 0) return spec.numel() == 0;
  const Matrix matrix(spec);
  return matrix.rows == 1 || matrix.row_stride >= matrix.columns;
}

void check_matmul(const MatmulSpec& spec) {
  constexpr const char* kName = "matmul";
  require(matmul_reads_left(spec.a) && matmul_reads_right(spec.b), kName,
          "an operand of strides that it does not take");
  require(spec.a.rank() == spec.b.rank() && spec.a.rank() == spec.output.rank(), kName,
          "ranks do not fit");
  const std::size_t rank = spec.a.sizes.size();
  Sizes expected = batch_dims(spec.a.sizes);
  require(batch_dims(spec.b.sizes) == expected, kName, "batch dims are not expanded");
  require(spec.a.sizes[rank - 1] == spec.b.sizes[rank - 2], kName, "inner sizes differ");
  expected.push_back(spec.a.sizes[rank - 2]);
  expected.push_back(spec.b.sizes[rank - 1]);
  require(spec.output.sizes == expected, kName, "output sizes do not fit");
  require(is_list_of_rows(spec.output), kName, "an output of strides that it does not take");
}

}  // namespace

bool matmul_reads_left(const OperandSpec& matrix) {
  if (matrix.dtype != DType::kFloat32 || matrix.rank() < 2) return false;
  return trailing_dims_contiguous(matrix, 1);
}

bool matmul_reads_right(const OperandSpec& matrix) {
  if (matrix.dtype != DType::kFloat32 || matrix.rank() < 2) return false;
  if (matrix.numel() == 0) return true;
  const Matrix strides(matrix);
  return strides.row_stride == 1 || strides.column_stride == 1;
}

KernelPtr select_matmul(const MatmulSpec& given) {
  check_matmul(given);
  if (given.output.numel() == 0 || given.a.numel() == 0) {
    return select_empty_product(Epilogue::kNone, given.output, given.has_bias, {}, given.threads);
  }
  const MatmulSpec spec = rows_absorb_batch(given) ? absorbed(given) : given;
  LoopNest batch = make_loop_nest(
      batch_dims(spec.output.sizes),
      {batch_dims(spec.a.strides), batch_dims(spec.b.strides), batch_dims(spec.output.strides)},
      LoopOrder::kReorder);
  return std::make_unique<MatmulKernel>(spec, std::move(batch));
}

}  // namespace unfuse::cpu
