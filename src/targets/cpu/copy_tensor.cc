#include "targets/cpu/copy_tensor.h"

#include <cstring>

#include "targets/cpu/kernels/copy.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

OperandSpec spec_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.sizes(), tensor.strides()};
}

void copy_bytes(const std::byte* from, std::byte* to, std::int64_t count, int threads) {
  constexpr std::int64_t kWorthAThread = 1 << 16;
  parallel_for(threads, count, kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

void copy_tensor(const Tensor& from, const Tensor& to, int threads) {
  if (to.numel() == 0) return;
  if (from.dtype() == to.dtype() && from.is_contiguous() && to.is_contiguous()) {
    copy_bytes(static_cast<const std::byte*>(from.data()), static_cast<std::byte*>(to.data()),
               to.numel() * static_cast<std::int64_t>(dtype_size(to.dtype())), threads);
    return;
  }
  const KernelPtr kernel = select_copy({spec_of(from), spec_of(to), threads});
  const Tensor scratch =
      Tensor::empty(DType::kUInt8, {static_cast<std::int64_t>(kernel->scratch_bytes())});
  void* const operands[] = {from.data(), to.data()};
  kernel->run(operands, scratch.data_as<std::byte>());
}

}  // namespace unfuse::cpu
