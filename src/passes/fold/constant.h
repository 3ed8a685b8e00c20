// Tensors whose elements are known while a graph is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace unfuse::passes {

/// Elements in row-major order, as int64 for integers and bools and as double, already rounded to
/// the dtype, for floats. A uniform constant holds one element for all, and its sizes may be
/// symbolic.
struct Constant {
  DType dtype = DType::kFloat32;
  std::vector<Dim> sizes;
  bool uniform = false;
  std::vector<double> floats;
  std::vector<std::int64_t> ints;

  bool is_float() const { return is_floating_point(dtype); }
  std::size_t stored() const { return is_float() ? floats.size() : ints.size(); }
  /// Element `index` as a number; any index of a uniform constant gives its one element.
  double number(std::size_t index) const;
  /// The one element, as a schema's Scalar: an int, a float or a bool by the dtype.
  Argument scalar() const;
  /// Appends `value` as the dtype holds it. False when it does not fit an integer dtype.
  bool append(double value);
  bool append(std::int64_t value);
};

/// Constants with more elements than this are left to the target, which computes what depends on
/// constants alone once, too.
inline constexpr std::int64_t kMostFoldedElements = 4096;

/// float16, bfloat16, float32, float64, the integers up to int64, bool.
bool is_foldable(DType dtype);

/// `value` rounded to the nearest that a float dtype holds, ties to even.
double round_to(DType dtype, double value);

/// A constant of known sizes and few elements; uniform when it has none that differ.
std::optional<Constant> constant_of(const Tensor& tensor);
/// A new tensor with the constant's elements.
Tensor tensor_of(const Constant& constant);

}  // namespace unfuse::passes
