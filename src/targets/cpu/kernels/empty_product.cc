#include "targets/cpu/kernels/empty_product.h"

#include <array>
#include <memory>

#include "targets/cpu/kernels/pointwise.h"

namespace unfuse::cpu {
namespace {

PointwiseOp epilogue_op(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kRelu:
      return PointwiseOp::kRelu;
    case Epilogue::kGelu:
      return PointwiseOp::kGelu;
    case Epilogue::kGeluTanh:
      return PointwiseOp::kGeluTanh;
    default:
      return PointwiseOp::kSilu;
  }
}

/// output = epilogue(bias) + residual, element by element.
KernelPtr select_epilogue(Epilogue epilogue, const OperandSpec& bias,
                          const std::optional<OperandSpec>& residual, const OperandSpec& output,
                          int threads) {
  constexpr RegisterType kType = RegisterType::kFloat32;
  PointwiseSpec spec;
  PointwiseProgram& program = spec.program;
  program.inputs = {kType};
  spec.inputs = {bias};
  if (residual) {
    program.inputs.push_back(kType);
    spec.inputs.push_back(*residual);
  }
  int result = 0;
  const auto append = [&](PointwiseOp op, std::array<int, 3> arguments) {
    program.instructions.push_back({op, kType, arguments, {}, 0});
    result = static_cast<int>(program.inputs.size() + program.instructions.size()) - 1;
  };
  if (epilogue != Epilogue::kNone) append(epilogue_op(epilogue), {0, -1, -1});
  if (residual) append(PointwiseOp::kAdd, {result, 1, -1});
  program.outputs = {result};
  spec.sizes = output.sizes;
  spec.outputs = {output};
  spec.threads = threads;
  return select_pointwise(spec);
}

class EmptyProductKernel final : public Kernel {
 public:
  EmptyProductKernel(Epilogue epilogue, const OperandSpec& output, bool has_bias,
                     const std::optional<OperandSpec>& residual, int threads)
      : has_bias_(has_bias), has_residual_(residual.has_value()) {
    OperandSpec bias = {DType::kFloat32, output.sizes, Sizes(output.sizes.size(), 0)};
    if (has_bias) bias.strides.back() = 1;
    kernel_ = select_epilogue(epilogue, bias, residual, output, threads);
  }
  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  void run(std::span<void* const> operands, std::byte* scratch) const override {
    static float zero = 0;
    std::array<void*, 3> inner = {has_bias_ ? operands[2] : &zero};
    std::size_t count = 1;
    if (has_residual_) inner[count++] = operands[operands.size() - 2];
    inner[count++] = operands.back();
    kernel_->run(std::span<void* const>(inner.data(), count), scratch);
  }

 private:
  bool has_bias_;
  bool has_residual_;
  KernelPtr kernel_;
};

class NothingKernel final : public Kernel {
 public:
  void run(std::span<void* const>, std::byte*) const override {}
};

}  // namespace

KernelPtr select_empty_product(Epilogue epilogue, const OperandSpec& output, bool has_bias,
                               const std::optional<OperandSpec>& residual, int threads) {
  if (output.numel() == 0) return std::make_unique<NothingKernel>();
  return std::make_unique<EmptyProductKernel>(epilogue, output, has_bias, residual, threads);
}

}  // namespace unfuse::cpu
