// A strided tensor in memory: owned, mapped from a file, or borrowed from the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "unfuse/dtype.h"

namespace unfuse {

/// Row-major strides, in elements, of a tensor with these sizes. A size of 0 counts as 1, as in
/// PyTorch. Throws Error (kInvalidArgument) when they do not fit into 64 bits.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes);

/// A strided view of memory that the tensor keeps alive. Copying a Tensor copies the view, not the
/// elements.
class Tensor {
 public:
  Tensor() = default;

  /// A new contiguous tensor, 64-byte aligned, elements not initialised.
  /// Throws Error (kInvalidArgument) on a negative size or when the byte count overflows.
  static Tensor empty(DType dtype, std::vector<std::int64_t> sizes);

  /// Views memory of somebody else. `strides` are in elements. `keep_alive`, which may be null,
  /// lives as long as any copy of the tensor.
  static Tensor view(void* data, DType dtype, std::vector<std::int64_t> sizes,
                     std::vector<std::int64_t> strides, std::shared_ptr<void> keep_alive = nullptr);

  bool defined() const { return defined_; }
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(sizes_.size()); }
  /// Number of elements.
  std::int64_t numel() const;
  bool is_contiguous() const;

  /// The element at index (0, ..., 0). A const Tensor gives mutable memory, as a pointer would.
  void* data() const { return data_; }
  template <typename T>
  T* data_as() const {
    return static_cast<T*>(data_);
  }
  const std::shared_ptr<void>& storage() const { return storage_; }

 private:
  bool defined_ = false;
  DType dtype_ = DType::kFloat32;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
  void* data_ = nullptr;
  std::shared_ptr<void> storage_;
};

}  // namespace unfuse
