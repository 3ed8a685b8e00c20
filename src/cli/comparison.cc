#include "cli/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

/// Exact where doubles are not: they hold 53 of the 64 bits.
template <typename T>
double distance_of_integers(const std::byte* got, const std::byte* expected) {
  T one;
  T other;
  std::memcpy(&one, got, sizeof one);
  std::memcpy(&other, expected, sizeof other);
  const auto larger = static_cast<std::uint64_t>(std::max(one, other));
  return static_cast<double>(larger - static_cast<std::uint64_t>(std::min(one, other)));
}

double distance(const std::byte* got, const std::byte* expected, DType dtype) {
  if (dtype == DType::kInt64) return distance_of_integers<std::int64_t>(got, expected);
  if (dtype == DType::kUInt64) return distance_of_integers<std::uint64_t>(got, expected);
  // Elements whose bytes are equal are the same; these are not.
  if (!has_numbers(dtype)) return kInfinity;
  const DType number = number_type(dtype);
  double length = 0;
  for (std::size_t i = 0; i < numbers_in(dtype); ++i) {
    const std::size_t offset = i * dtype_size(number);
    length = std::hypot(length, distance(read_number(got + offset, number),
                                         read_number(expected + offset, number)));
  }
  return length;
}

double magnitude(const std::byte* element, DType dtype) {
  if (!has_numbers(dtype)) return 0;
  const DType number = number_type(dtype);
  double length = 0;
  for (std::size_t i = 0; i < numbers_in(dtype); ++i) {
    length = std::hypot(length, read_number(element + i * dtype_size(number), number));
  }
  return length;
}

/// `difference` is not 0.
double relative(double difference, double magnitude) {
  const bool comparable = std::isfinite(difference) && magnitude > 0;
  return comparable ? difference / magnitude : kInfinity;
}

void keep_larger(double value, std::int64_t index, double& largest, std::int64_t& where) {
  if (value <= largest) return;
  largest = value;
  where = index;
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
    if (difference == 0) continue;
    const double expected_magnitude = magnitude(other, dtype);
    keep_larger(difference, i, comparison.largest_absolute, comparison.where_absolute);
    keep_larger(relative(difference, expected_magnitude), i, comparison.largest_relative,
                comparison.where_relative);
    // Not "greater than": a tolerance of NaN, next to an expected NaN, matches nothing.
    const bool within = difference <= tolerance.absolute + tolerance.relative * expected_magnitude;
    if (!within || difference == kInfinity) ++comparison.mismatches;
  }
  return comparison;
}

}  // namespace unfuse::cli
