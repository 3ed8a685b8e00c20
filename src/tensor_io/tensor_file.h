// Named tensors in files: safetensors, and NumPy's .npz. The format goes by the file's ending.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "unfuse/tensor.h"

namespace unfuse::tensor_io {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
using NamedTensors = std::vector<NamedTensor>;

enum class Format { kSafetensors, kNpz };

/// By ".safetensors" or ".npz". Throws Error (kInvalidArgument) for any other ending.
Format format_of(const std::string& path);

/// All tensors of a file, in file order. Throws Error (kInvalidFile) naming the file and the cause,
/// kInvalidArgument when it cannot be opened.
NamedTensors read(const std::string& path);

/// Writes a file, or leaves what was there: the file appears whole, under its name, at the end.
/// Tensors may have any strides; names must differ. Throws Error (kInvalidArgument) when the format
/// has no such dtype, and its WriteError (files.h) when the file cannot be written.
void write(const std::string& path, const NamedTensors& tensors);

/// Null when there is none of this name.
const Tensor* find(const NamedTensors& tensors, std::string_view name);

}  // namespace unfuse::tensor_io
