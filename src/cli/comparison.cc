#include "cli/comparison.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "cli/elements.h"
#include "tensor_io/files.h"

namespace unfuse::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double distance(double got, double expected) {
  if (std::isnan(got) && std::isnan(expected)) return 0;
  if (got == expected) return 0;
  const double difference = std::abs(got - expected);
  return std::isnan(difference) ? kInfinity : difference;
}

// Elements whose bytes are equal are the same; these are not.
double distance(const std::byte* got, const std::byte* expected, DType dtype) {
  if (!has_numbers(dtype)) return kInfinity;
  const DType number = number_type(dtype);
  double largest = 0;
  for (std::size_t i = 0; i < numbers_in(dtype); ++i) {
    const std::size_t offset = i * dtype_size(number);
    const double difference =
        distance(read_number(got + offset, number), read_number(expected + offset, number));
    if (difference > largest) largest = difference;
  }
  // 64-bit integers may differ by less than a double tells.
  if (largest == 0 && is_integer(dtype)) return 1;
  return largest;
}

double magnitude(const std::byte* element, DType dtype) {
  if (!has_numbers(dtype)) return 0;
  const DType number = number_type(dtype);
  double largest = 0;
  for (std::size_t i = 0; i < numbers_in(dtype); ++i) {
    largest = std::fmax(largest, std::abs(read_number(element + i * dtype_size(number), number)));
  }
  return largest;
}

}  // namespace

Tolerance default_tolerance(DType dtype) {
  switch (number_type(dtype)) {
    case DType::kFloat64:
      return {1e-9, 1e-10};
    case DType::kFloat32:
      return {1e-4, 2e-5};
    case DType::kFloat16:
      return {1e-2, 1e-2};
    case DType::kBFloat16:
      return {5e-2, 5e-2};
    default:
      return {0, 0};
  }
}

Comparison compare(const Tensor& got, const Tensor& expected, Tolerance tolerance) {
  Comparison comparison;
  if (got.dtype() != expected.dtype() || got.sizes() != expected.sizes()) return comparison;
  comparison.same_type = true;
  const Tensor left = tensor_io::packed(got);
  const Tensor right = tensor_io::packed(expected);
  const DType dtype = got.dtype();
  const std::size_t size = dtype_size(dtype);
  const auto* one = left.data_as<std::byte>();
  const auto* other = right.data_as<std::byte>();
  for (std::int64_t i = 0; i < got.numel(); ++i, one += size, other += size) {
    if (std::memcmp(one, other, size) == 0) continue;
    const double difference = distance(one, other, dtype);
    const double expected_magnitude = magnitude(other, dtype);
    if (difference > comparison.largest_absolute) {
      comparison.largest_absolute = difference;
      comparison.where = i;
    }
    if (expected_magnitude > 0) {
      comparison.largest_relative =
          std::fmax(comparison.largest_relative, difference / expected_magnitude);
    }
    // Not "greater than": a tolerance of NaN, next to an expected NaN, matches nothing.
    const bool within = difference <= tolerance.absolute + tolerance.relative * expected_magnitude;
    if (difference > 0 && (!within || difference == kInfinity)) ++comparison.mismatches;
  }
  return comparison;
}

}  // namespace unfuse::cli
