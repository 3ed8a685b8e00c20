#include "targets/cpu/kernels/widen_weight.h"

#include "targets/cpu/kernels/copy.h"

namespace unfuse::cpu {

AlignedBuffer widen_weight(const OperandSpec& weight, const void* data, int threads) {
  const bool is_float = weight.dtype == DType::kFloat32 || weight.dtype == DType::kFloat16 ||
                        weight.dtype == DType::kBFloat16;
  require(is_float, "packing", "a weight that is not float32, float16 or bfloat16");
  AlignedBuffer wide(static_cast<std::size_t>(weight.numel()) * sizeof(float));
  const CopySpec spec = {weight, OperandSpec::contiguous(DType::kFloat32, weight.sizes), threads};
  const KernelPtr copy = select_copy(spec);
  AlignedBuffer scratch(copy->scratch_bytes());
  void* const operands[] = {const_cast<void*>(data), wide.data()};
  copy->run(operands, scratch.data());
  return wide;
}

}  // namespace unfuse::cpu
