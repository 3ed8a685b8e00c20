// Element types of tensors, named as PyTorch names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace unfuse {

enum class DType : std::uint8_t {
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kBool,
  kBFloat16,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E4M3FNUZ,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
};

/// "float32", "bfloat16", "bool": PyTorch's name without the "torch." prefix.
std::string_view dtype_name(DType dtype);

/// The inverse of dtype_name; empty when there is no such dtype.
std::optional<DType> dtype_from_name(std::string_view name);

/// Bytes an element takes.
std::size_t dtype_size(DType dtype);

/// float16, bfloat16, float32, float64 and the 8-bit floats.
bool is_floating_point(DType dtype);
bool is_complex(DType dtype);
/// Integers, signed or not; bool is not one.
bool is_integer(DType dtype);

}  // namespace unfuse
