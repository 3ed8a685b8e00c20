// NumPy's .npy format: what a member of an .npz holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unfuse/tensor.h"

namespace unfuse::tensor_io {

/// What stands before the elements.
struct NpyHeader {
  DType dtype = DType::kFloat32;
  bool fortran_order = false;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;  ///< length of the header: the elements begin here
};

/// Format versions 1 to 3. `where` names the array in errors. Throws Error (kInvalidFile) for a
/// damaged header, and for arrays of Python objects, of records, or big-endian ones.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& where);

/// Throws Error (kInvalidArgument) for a dtype that NumPy lacks: bfloat16, the 8-bit floats.
std::string npy_header(const Tensor& tensor, const std::string& where);

}  // namespace unfuse::tensor_io
