// select_matmul of gemm.h.
#include <algorithm>
#include <memory>
#include <vector>

#include "targets/cpu/kernels/depth_blocks.h"
#include "targets/cpu/kernels/epilogue.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/onednn.h"

namespace unfuse::cpu {
namespace {

using onednn::LayoutPtr;

/// One matrix of a batch, or a batch of one dim: a primitive a block of depth.
class MatmulKernel final : public Kernel {
 public:
  struct Step {
    onednn::PrimitivePtr primitive;
    std::int64_t a_offset = 0;  ///< in elements
    std::int64_t b_offset = 0;
  };
  MatmulKernel(std::vector<Step> steps, bool has_bias)
      : steps_(std::move(steps)), has_bias_(has_bias) {}
  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (const Step& step : steps_) bytes = std::max(bytes, step.primitive->scratch_bytes());
    return bytes;
  }
  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const void* bias = has_bias_ ? operands[2] : nullptr;
    for (const Step& step : steps_) {
      step.primitive->execute(static_cast<const float*>(operands[0]) + step.a_offset,
                              static_cast<const float*>(operands[1]) + step.b_offset, bias,
                              operands.back(), scratch);
      bias = nullptr;
    }
  }
  bool is_reference() const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const Step& step) { return step.primitive->is_reference(); });
  }

 private:
  std::vector<Step> steps_;
  bool has_bias_;
};

/// Runs an inner kernel once for every index of batch dims that it cannot take in one go.
class BatchLoopKernel final : public Kernel {
 public:
  BatchLoopKernel(KernelPtr inner, LoopNest nest, bool has_bias)
      : inner_(std::move(inner)), nest_(std::move(nest)), has_bias_(has_bias) {}
  std::size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  void run(std::span<void* const> operands, std::byte* scratch) const override {
    std::int64_t count = 1;
    for (const std::int64_t size : nest_.sizes) count *= size;
    RowWalker a(nest_.sizes, nest_.strides[0], 0);
    RowWalker b(nest_.sizes, nest_.strides[1], 0);
    RowWalker output(nest_.sizes, nest_.strides[2], 0);
    void* moved[4] = {};
    for (std::int64_t i = 0; i < count; ++i, a.next(), b.next(), output.next()) {
      std::size_t operand = 0;
      moved[operand++] = static_cast<float*>(operands[0]) + a.offset();
      moved[operand++] = static_cast<float*>(operands[1]) + b.offset();
      if (has_bias_) moved[operand++] = operands[2];
      moved[operand++] = static_cast<float*>(operands.back()) + output.offset();
      inner_->run(std::span<void* const>(moved, operand), scratch);
    }
  }

 private:
  KernelPtr inner_;
  LoopNest nest_;
  bool has_bias_;
};

/// The last two dims of an operand, with `batch` dims in front; broadcast ones have size 1.
LayoutPtr matrix_layout(const OperandSpec& operand, const Sizes& batch, const Sizes& strides) {
  Sizes sizes = batch;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (strides[dim] == 0) sizes[dim] = 1;
  }
  Sizes all_strides = strides;
  sizes.insert(sizes.end(), operand.sizes.end() - 2, operand.sizes.end());
  all_strides.insert(all_strides.end(), operand.strides.end() - 2, operand.strides.end());
  return onednn::strided_layout(sizes, all_strides);
}

std::unique_ptr<MatmulKernel> batch_kernel(const MatmulSpec& spec, const LoopNest& batch) {
  std::vector<MatmulKernel::Step> steps;
  for (const DepthBlock& block : depth_blocks(spec.a.sizes.back())) {
    OperandSpec a = spec.a;
    OperandSpec b = spec.b;
    a.sizes[a.sizes.size() - 1] = block.size;
    b.sizes[b.sizes.size() - 2] = block.size;
    onednn::MatmulProblem problem;
    problem.source = matrix_layout(a, batch.sizes, batch.strides[0]);
    problem.weights = matrix_layout(b, batch.sizes, batch.strides[1]);
    problem.destination = matrix_layout(spec.output, batch.sizes, batch.strides[2]);
    problem.accumulate = block.begin > 0;
    problem.has_bias = spec.has_bias && !problem.accumulate;
    problem.alpha = spec.alpha;
    problem.threads = spec.threads;
    steps.push_back({onednn::make_matmul(problem), block.begin * a.strides[a.strides.size() - 1],
                     block.begin * b.strides[b.strides.size() - 2]});
  }
  return std::make_unique<MatmulKernel>(std::move(steps), spec.has_bias);
}

Sizes batch_dims(const Sizes& values) { return Sizes(values.begin(), values.end() - 2); }

/// [..., M, K] x [K, N]: the batch dims of `a` are more rows, if it and the output let them.
bool rows_absorb_batch(const MatmulSpec& spec) {
  const Sizes batch_strides = batch_dims(spec.b.strides);
  const bool b_is_one_matrix = std::all_of(batch_strides.begin(), batch_strides.end(),
                                           [](std::int64_t stride) { return stride == 0; });
  // oneDNN takes no rows that overlap, whether it reads or writes them.
  return b_is_one_matrix && spec.a.rank() > 2 && packed_linear_writes(spec.a) &&
         packed_linear_writes(spec.output);
}

KernelPtr select_absorbed(const MatmulSpec& spec) {
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
  return batch_kernel(flat, {{}, {{}, {}, {}}});
}

void check_matmul(const MatmulSpec& spec) {
  constexpr const char* kName = "matmul";
  require(matmul_takes(spec.a) && matmul_takes(spec.b), kName,
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
  require(matmul_takes(spec.output) && trailing_dims_contiguous(spec.output, 1), kName,
          "an output of strides that it does not take");
  require(!spec.has_bias || spec.alpha == 1, kName, "alpha together with a bias");
}

}  // namespace

bool matmul_takes(const OperandSpec& matrix) {
  if (matrix.dtype != DType::kFloat32 || matrix.rank() < 2) return false;
  if (matrix.numel() == 0) return true;
  const auto rank = matrix.sizes.size();
  const std::int64_t rows = matrix.sizes[rank - 2];
  const std::int64_t columns = matrix.sizes[rank - 1];
  const std::int64_t row_stride = matrix.strides[rank - 2];
  const std::int64_t column_stride = matrix.strides[rank - 1];
  const bool row_major =
      (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns);
  const bool column_major =
      (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return row_major || column_major;
}

KernelPtr select_matmul(const MatmulSpec& spec) {
  check_matmul(spec);
  if (spec.output.numel() == 0 || spec.a.numel() == 0) {
    return select_empty_product(Epilogue::kNone, spec.output, spec.has_bias, {}, spec.threads);
  }
  if (rows_absorb_batch(spec)) return select_absorbed(spec);
  const LoopNest batch = make_loop_nest(
      batch_dims(spec.output.sizes),
      {batch_dims(spec.a.strides), batch_dims(spec.b.strides), batch_dims(spec.output.strides)},
      LoopOrder::kReorder);
  const LoopNest one_matrix = {{}, {{}, {}, {}}};
  if (batch.rows() == 1 && batch.inner_size() == 1) {
    return batch_kernel(spec, one_matrix);
  }
  if (batch.sizes.size() == 1) {
    auto kernel = batch_kernel(spec, batch);
    if (!kernel->is_reference()) return kernel;
  }
  // oneDNN takes one batch dim well; the others are a loop here.
  LoopNest inner = {{batch.sizes.back()}, {}};
  LoopNest outer = {batch.sizes, batch.strides};
  outer.sizes.pop_back();
  for (Sizes& strides : outer.strides) {
    inner.strides.push_back({strides.back()});
    strides.pop_back();
  }
  auto kernel = batch_kernel(spec, inner);
  if (kernel->is_reference()) {
    kernel = batch_kernel(spec, one_matrix);
    outer = batch;
  }
  return std::make_unique<BatchLoopKernel>(std::move(kernel), std::move(outer), spec.has_bias);
}

}  // namespace unfuse::cpu
