// What a value of the graph is: a tensor, a symbolic int, a float, a bool, or nothing.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "unfuse/dtype.h"

namespace unfuse {

struct TensorType {
  DType dtype = DType::kFloat32;
  std::vector<Dim> sizes;
  /// In elements. What the exporter recorded, or what eager would give; the target is free to lay
  /// out what nobody outside the graph sees otherwise.
  std::vector<Dim> strides;
  Dim storage_offset = 0;
  /// "cpu", "cuda:0". Everything we run is "cpu"; the rest is carried along.
  std::string device = "cpu";

  std::int64_t rank() const { return static_cast<std::int64_t>(sizes.size()); }
  Dim numel() const { return product(sizes); }
  /// Contiguous for every value of the symbols, as far as can be shown.
  bool is_contiguous() const;

  /// A contiguous tensor on the CPU.
  static TensorType contiguous(DType dtype, std::vector<Dim> sizes);
};

std::vector<Dim> contiguous_strides(const std::vector<Dim>& sizes);

/// The missing second result of attention without weights: None in Python.
struct NoneType {};
/// A symbolic int; `value` is what it stands for.
struct IntType {
  Dim value;
};
struct FloatType {};
struct BoolType {};
/// Anything else that an op we do not know may return; only torch can hold it.
struct OpaqueType {
  std::string text;
};

using Type = std::variant<NoneType, TensorType, IntType, FloatType, BoolType, OpaqueType>;

/// "f32[2, s0, 512]" with the strides appended when they are not contiguous.
std::string to_string(const Type& type);
std::string to_string(const TensorType& type);

/// Same dtype, sizes (by representation) and device; strides are compared only when asked.
bool same_type(const TensorType& left, const TensorType& right, bool compare_strides);

}  // namespace unfuse
