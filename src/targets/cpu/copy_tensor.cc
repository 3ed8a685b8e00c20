#include "targets/cpu/copy_tensor.h"

#include "targets/cpu/kernels/copy.h"

namespace unfuse::cpu {
namespace {

OperandSpec spec_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.sizes(), tensor.strides()};
}

}  // namespace

void copy_tensor(const Tensor& from, const Tensor& to, int threads) {
  if (to.numel() == 0) return;
  const KernelPtr kernel = select_copy({spec_of(from), spec_of(to), threads});
  const Tensor scratch =
      Tensor::empty(DType::kUInt8, {static_cast<std::int64_t>(kernel->scratch_bytes())});
  void* const operands[] = {from.data(), to.data()};
  kernel->run(operands, scratch.data_as<std::byte>());
}

}  // namespace unfuse::cpu
