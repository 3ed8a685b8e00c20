#include "targets/cpu/kernels/epilogue.h"

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
    default:
      return PointwiseOp::kGeluTanh;
  }
}

class EmptyProductKernel final : public Kernel {
 public:
  EmptyProductKernel(Epilogue epilogue, const OperandSpec& output, bool has_bias, int threads)
      : has_bias_(has_bias) {
    OperandSpec bias = {DType::kFloat32, output.sizes, Sizes(output.sizes.size(), 0)};
    if (has_bias) bias.strides.back() = 1;
    kernel_ = select_epilogue(epilogue, bias, output, threads);
  }
  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  void run(std::span<void* const> operands, std::byte* scratch) const override {
    static float zero = 0;
    void* bias = has_bias_ ? operands[2] : &zero;
    void* const inner[] = {bias, operands.back()};
    kernel_->run(inner, scratch);
  }

 private:
  bool has_bias_;
  KernelPtr kernel_;
};

class NothingKernel final : public Kernel {
 public:
  void run(std::span<void* const>, std::byte*) const override {}
};

}  // namespace

KernelPtr select_epilogue(Epilogue epilogue, const OperandSpec& input, const OperandSpec& output,
                          int threads) {
  PointwiseSpec spec;
  spec.program.inputs = {RegisterType::kFloat32};
  spec.program.outputs = {0};
  if (epilogue != Epilogue::kNone) {
    spec.program.instructions = {
        {epilogue_op(epilogue), RegisterType::kFloat32, {0, -1, -1}, {}, 0}};
    spec.program.outputs = {1};
  }
  spec.sizes = output.sizes;
  spec.inputs = {input};
  spec.outputs = {output};
  spec.threads = threads;
  return select_pointwise(spec);
}

KernelPtr select_empty_product(Epilogue epilogue, const OperandSpec& output, bool has_bias,
                               int threads) {
  if (output.numel() == 0) return std::make_unique<NothingKernel>();
  return std::make_unique<EmptyProductKernel>(epilogue, output, has_bias, threads);
}

}  // namespace unfuse::cpu
