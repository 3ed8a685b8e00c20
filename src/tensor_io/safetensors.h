// The safetensors format: a JSON header, then the elements.
#pragma once

#include <string>

#include "tensor_io/tensor_file.h"

namespace unfuse::tensor_io {

/// Maps the file; tensors keep the mapping alive. The header is checked as the format demands:
/// tensors cover the rest of the file without holes or overlaps.
NamedTensors read_safetensors(const std::string& path);

/// Tensors of wide elements come first, so that all of them are aligned.
void write_safetensors(const std::string& path, const NamedTensors& tensors);

}  // namespace unfuse::tensor_io
