// Files of tensors in a folder of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "support/temporary_folder.h"
#include "tensor_io/tensor_file.h"
#include "unfuse/error.h"

namespace unfuse::tensor_io {

namespace fs = std::filesystem;
using testing::slurp;

inline std::string data(const std::string& name) {
  return std::string(UNFUSE_TEST_DATA) + "/" + name;
}

class TensorFile : public testing::TemporaryFolder {
 protected:
  std::string put_safetensors(const std::string& header, const std::string& elements) const {
    const std::uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    return put("damaged.safetensors", bytes + header + elements);
  }
};

inline std::string elements(const Tensor& tensor) {
  std::string bytes;
  const std::size_t size = dtype_size(tensor.dtype());
  const std::function<void(std::size_t, const char*)> walk = [&](std::size_t dimension,
                                                                 const char* from) {
    if (dimension == tensor.sizes().size()) {
      bytes.append(from, size);
      return;
    }
    for (std::int64_t i = 0; i < tensor.sizes()[dimension]; ++i) {
      walk(dimension + 1, from + i * tensor.strides()[dimension] * static_cast<std::int64_t>(size));
    }
  };
  walk(0, tensor.data_as<char>());
  return bytes;
}

}  // namespace unfuse::tensor_io
