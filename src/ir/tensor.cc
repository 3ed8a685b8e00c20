#include "unfuse/tensor.h"

#include <cstdlib>
#include <new>
#include <string>

#include "unfuse/error.h"

namespace unfuse {
namespace {

constexpr std::size_t kAlignment = 64;

std::int64_t checked_product(const std::vector<std::int64_t>& sizes, std::int64_t start) {
  bool empty = false;
  std::int64_t total = start;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw Error(ErrorKind::kInvalidArgument, "a tensor cannot have size " + std::to_string(size));
    }
    if (size == 0) empty = true;
    // Dimensions beside an empty one are checked too, since strides are made of them.
    if (size > 0 && __builtin_mul_overflow(total, size, &total)) {
      throw Error(ErrorKind::kInvalidArgument, "a tensor's byte count does not fit into 64 bits");
    }
  }
  return empty ? 0 : total;
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0 && sizes[i] > 1 && __builtin_mul_overflow(stride, sizes[i], &stride)) {
      throw Error(ErrorKind::kInvalidArgument, "a tensor's strides do not fit into 64 bits");
    }
  }
  return strides;
}

Tensor Tensor::empty(DType dtype, std::vector<std::int64_t> sizes) {
  const std::int64_t bytes = checked_product(sizes, static_cast<std::int64_t>(dtype_size(dtype)));
  const std::size_t wanted = bytes > 0 ? static_cast<std::size_t>(bytes) : 1;
  const std::size_t rounded = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  std::shared_ptr<void> storage(memory, std::free);
  auto strides = contiguous_strides(sizes);
  return view(memory, dtype, std::move(sizes), std::move(strides), std::move(storage));
}

Tensor Tensor::view(void* data, DType dtype, std::vector<std::int64_t> sizes,
                    std::vector<std::int64_t> strides, std::shared_ptr<void> keep_alive) {
  if (sizes.size() != strides.size()) {
    throw Error(ErrorKind::kInvalidArgument, "a tensor needs as many strides as sizes");
  }
  Tensor tensor;
  tensor.defined_ = true;
  tensor.dtype_ = dtype;
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.data_ = data;
  tensor.storage_ = std::move(keep_alive);
  return tensor;
}

std::int64_t Tensor::numel() const { return checked_product(sizes_, 1); }

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    if (sizes_[i] == 0) return true;
    if (sizes_[i] == 1) continue;
    if (strides_[i] != expected) return false;
    expected *= sizes_[i];
  }
  return true;
}

}  // namespace unfuse
