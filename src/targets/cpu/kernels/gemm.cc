#include "targets/cpu/kernels/gemm.h"

#include <algorithm>
#include <memory>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/copy.h"
#include "targets/cpu/kernels/epilogue.h"
#include "targets/cpu/kernels/onednn.h"
#include "targets/cpu/kernels/widen_weight.h"

namespace unfuse::cpu {
namespace {

using onednn::LayoutPtr;

class PackedLinearWeight final : public Packed {
 public:
  PackedLinearWeight(LayoutPtr layout, AlignedBuffer buffer)
      : layout_(std::move(layout)), buffer_(std::move(buffer)) {}
  std::size_t bytes() const override { return buffer_.bytes(); }
  const std::byte* data() const { return buffer_.data(); }
  /// Null for a weight without elements.
  const LayoutPtr& layout() const { return layout_; }

 private:
  LayoutPtr layout_;
  AlignedBuffer buffer_;
};

onednn::MatmulProblem linear_problem(std::int64_t rows, std::int64_t in_features,
                                     std::int64_t out_features, LayoutPtr weights) {
  onednn::MatmulProblem problem;
  problem.source = onednn::strided_layout({rows, in_features}, {in_features, 1});
  problem.weights = std::move(weights);
  problem.destination = onednn::strided_layout({rows, out_features}, {out_features, 1});
  problem.has_bias = true;
  return problem;
}

/// The layout of a packed weight [K, N]: what oneDNN likes for a middling number of rows, if it has
/// real code with that layout for few and many rows too; else row-major. Depends on K and N alone,
/// so that plans and packed weights agree without knowing of each other.
LayoutPtr linear_weight_layout(std::int64_t in_features, std::int64_t out_features) {
  const Sizes sizes = {in_features, out_features};
  const LayoutPtr plain = onednn::strided_layout(sizes, {out_features, 1});
  const auto problem = linear_problem(128, in_features, out_features, onednn::any_layout(sizes));
  const auto preferred = onednn::make_matmul(problem, /*executable=*/false);
  if (preferred->is_reference()) return plain;
  const LayoutPtr layout = preferred->weights_layout();
  for (const std::int64_t rows : {1, 4096}) {
    const auto other = linear_problem(rows, in_features, out_features, layout);
    if (onednn::make_matmul(other, /*executable=*/false)->is_reference()) return plain;
  }
  return layout;
}

onednn::PrimitivePtr linear_primitive(const PackedLinearSpec& spec, std::int64_t input_stride,
                                      std::int64_t output_stride) {
  const std::int64_t rows = spec.output.numel() / spec.out_features;
  const std::int64_t in_features = spec.input.sizes.back();
  onednn::MatmulProblem problem;
  problem.source = onednn::strided_layout({rows, in_features}, {input_stride, 1});
  problem.weights = linear_weight_layout(in_features, spec.out_features);
  problem.destination = onednn::strided_layout({rows, spec.out_features}, {output_stride, 1});
  problem.has_bias = spec.has_bias;
  problem.relu = spec.epilogue == Epilogue::kRelu;
  problem.threads = spec.threads;
  return onednn::make_matmul(problem);
}

/// Bytes rounded up so that what follows is aligned.
std::size_t aligned_bytes(std::int64_t elements) {
  return (static_cast<std::size_t>(elements) * sizeof(float) + 63) / 64 * 64;
}

class PackedLinearKernel final : public Kernel {
 public:
  explicit PackedLinearKernel(const PackedLinearSpec& spec) : has_bias_(spec.has_bias) {
    primitive_ =
        linear_primitive(spec, leading_stride(spec.input, 1), leading_stride(spec.output, 1));
    if (primitive_->is_reference()) stage_rows(spec);
    layout_ = primitive_->weights_layout();
    if (spec.epilogue == Epilogue::kNone || spec.epilogue == Epilogue::kRelu) return;
    epilogue_ = select_epilogue(spec.epilogue, spec.output, spec.output, spec.threads);
  }

  std::size_t scratch_bytes() const override {
    const std::size_t product = staged_bytes_ + primitive_->scratch_bytes();
    return std::max(product, epilogue_ ? epilogue_->scratch_bytes() : 0);
  }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const auto& weight = static_cast<const PackedLinearWeight&>(packed_from_operand(operands[1]));
    require(weight.layout() && onednn::same_layout(*weight.layout(), *layout_), "packed linear",
            "a weight that was packed for other sizes");
    void* input = operands.front();
    void* output = operands.back();
    const void* bias = has_bias_ ? operands[operands.size() - 2] : nullptr;
    if (gather_ != nullptr) {
      run_copy(*gather_, input, scratch, nullptr);
      primitive_->execute(scratch, weight.data(), bias, scratch + output_stage_,
                          scratch + staged_bytes_);
      run_copy(*spread_, scratch + output_stage_, output, nullptr);
    } else {
      primitive_->execute(input, weight.data(), bias, output, scratch);
    }
    if (epilogue_ != nullptr) run_copy(*epilogue_, output, output, scratch);
  }

 private:
  static void run_copy(const Kernel& kernel, void* from, void* to, std::byte* scratch) {
    void* const operands[] = {from, to};
    kernel.run(operands, scratch);
  }

  /// oneDNN 2.6 has nothing but reference code for packed weights and rows with gaps: they go
  /// through scratch. That is little beside the product itself.
  void stage_rows(const PackedLinearSpec& spec) {
    auto dense = linear_primitive(spec, spec.input.sizes.back(), spec.out_features);
    if (dense->is_reference()) return;
    primitive_ = std::move(dense);
    const OperandSpec input = OperandSpec::contiguous(DType::kFloat32, spec.input.sizes);
    const OperandSpec output = OperandSpec::contiguous(DType::kFloat32, spec.output.sizes);
    gather_ = select_copy({spec.input, input, spec.threads});
    spread_ = select_copy({output, spec.output, spec.threads});
    output_stage_ = aligned_bytes(input.numel());
    staged_bytes_ = output_stage_ + aligned_bytes(output.numel());
  }

  bool has_bias_;
  LayoutPtr layout_;
  onednn::PrimitivePtr primitive_;
  KernelPtr gather_;
  KernelPtr spread_;
  KernelPtr epilogue_;
  std::size_t output_stage_ = 0;
  std::size_t staged_bytes_ = 0;
};

}  // namespace

PackedPtr pack_linear_weight(const OperandSpec& weight, const void* data, int threads) {
  require(weight.rank() == 2, "packed linear", "a weight that is not of rank 2");
  if (weight.numel() == 0) return std::make_shared<PackedLinearWeight>(nullptr, AlignedBuffer(0));
  const AlignedBuffer wide = widen_weight(weight, data, threads);
  const std::int64_t out_features = weight.sizes[0];
  const std::int64_t in_features = weight.sizes[1];
  const LayoutPtr layout = linear_weight_layout(in_features, out_features);
  AlignedBuffer packed(onednn::layout_bytes(*layout));
  const LayoutPtr transposed =
      onednn::strided_layout({in_features, out_features}, {1, in_features});
  onednn::reorder(*transposed, wide.data(), *layout, packed.data(), threads);
  return std::make_shared<PackedLinearWeight>(layout, std::move(packed));
}

bool packed_linear_takes(const OperandSpec& rows) {
  if (rows.dtype != DType::kFloat32 || rows.rank() < 1) return false;
  if (rows.numel() == 0) return true;
  if (!trailing_dims_contiguous(rows, 1) || !leading_dims_collapse(rows, 1)) return false;
  const bool single_row = rows.numel() == rows.sizes.back();
  return single_row || leading_stride(rows, 1) >= rows.sizes.back();
}

KernelPtr select_packed_linear(const PackedLinearSpec& spec) {
  constexpr const char* kName = "packed linear";
  require(packed_linear_takes(spec.input), kName, "an input of strides that it does not take");
  require(packed_linear_takes(spec.output), kName, "an output of strides that it does not take");
  Sizes expected = spec.input.sizes;
  expected.back() = spec.out_features;
  require(spec.output.sizes == expected, kName, "sizes do not fit");
  if (spec.output.numel() == 0 || spec.input.numel() == 0) {
    return select_empty_product(spec.epilogue, spec.output, spec.has_bias, spec.threads);
  }
  return std::make_unique<PackedLinearKernel>(spec);
}

}  // namespace unfuse::cpu
