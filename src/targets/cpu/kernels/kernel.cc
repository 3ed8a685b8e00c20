#include "targets/cpu/kernels/kernel.h"

#include <string>

#include "unfuse/error.h"
#include "unfuse/tensor.h"

namespace unfuse::cpu {

std::int64_t OperandSpec::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

bool OperandSpec::is_contiguous() const { return trailing_dims_contiguous(*this, rank()); }

OperandSpec OperandSpec::contiguous(DType dtype, Sizes sizes) {
  Sizes strides = contiguous_strides(sizes);
  return {dtype, std::move(sizes), std::move(strides)};
}

void refuse(const char* kernel, const char* message) {
  throw Error(ErrorKind::kInternal, std::string(kernel) + " kernel: " + message);
}

bool leading_dims_collapse(const OperandSpec& operand, std::int64_t trailing) {
  if (operand.numel() == 0) return true;
  std::int64_t outer_of_inner = -1;  // the stride that the next larger dim must have
  for (std::int64_t dim = operand.rank() - trailing - 1; dim >= 0; --dim) {
    const auto index = static_cast<std::size_t>(dim);
    if (operand.sizes[index] == 1) continue;
    if (outer_of_inner >= 0 && operand.strides[index] != outer_of_inner) return false;
    outer_of_inner = operand.strides[index] * operand.sizes[index];
  }
  return true;
}

std::int64_t leading_stride(const OperandSpec& operand, std::int64_t trailing) {
  for (std::int64_t dim = operand.rank() - trailing - 1; dim >= 0; --dim) {
    const auto index = static_cast<std::size_t>(dim);
    if (operand.sizes[index] > 1) return operand.strides[index];
  }
  return 0;
}

bool trailing_dims_contiguous(const OperandSpec& operand, std::int64_t count) {
  if (operand.numel() == 0) return true;
  std::int64_t expected = 1;
  for (std::int64_t dim = operand.rank() - 1; dim >= operand.rank() - count; --dim) {
    const auto index = static_cast<std::size_t>(dim);
    if (operand.sizes[index] == 1) continue;
    if (operand.strides[index] != expected) return false;
    expected *= operand.sizes[index];
  }
  return true;
}

}  // namespace unfuse::cpu
