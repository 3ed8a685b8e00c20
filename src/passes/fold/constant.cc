#include "passes/fold/constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

struct FloatFormat {
  int digits;        // of the significand, the hidden one included
  int min_exponent;  // of the smallest normal number
  double largest;
};

FloatFormat format_of(DType dtype) {
  if (dtype == DType::kFloat16) return {11, -14, 65504.0};
  if (dtype == DType::kBFloat16) return {8, -126, 3.3895313892515355e38};
  return {24, -126, static_cast<double>(std::numeric_limits<float>::max())};
}

bool fits(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value == 0 || value == 1;
    case DType::kUInt8:
      return value >= 0 && value <= 255;
    case DType::kInt8:
      return value >= -128 && value <= 127;
    case DType::kInt16:
      return value >= INT16_MIN && value <= INT16_MAX;
    case DType::kInt32:
      return value >= INT32_MIN && value <= INT32_MAX;
    default:
      return true;
  }
}

template <typename T>
T element_at(const Tensor& tensor, std::int64_t offset) {
  T element;
  std::memcpy(&element, tensor.data_as<T>() + offset, sizeof element);
  return element;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t double_to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14)) {
    return sign | static_cast<std::uint16_t>(std::ldexp(magnitude, 24));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  const auto digits = static_cast<std::uint16_t>(std::ldexp(fraction, 11)) & 1023;
  return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | digits);
}

std::uint32_t float_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float bits_to_float(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void append_element(Constant& constant, const Tensor& tensor, std::int64_t offset) {
  switch (constant.dtype) {
    case DType::kFloat64:
      constant.floats.push_back(element_at<double>(tensor, offset));
      return;
    case DType::kFloat32:
      constant.floats.push_back(static_cast<double>(element_at<float>(tensor, offset)));
      return;
    case DType::kFloat16:
      constant.floats.push_back(half_to_double(element_at<std::uint16_t>(tensor, offset)));
      return;
    case DType::kBFloat16:
      constant.floats.push_back(static_cast<double>(bits_to_float(
          static_cast<std::uint32_t>(element_at<std::uint16_t>(tensor, offset)) << 16)));
      return;
    case DType::kInt64:
      constant.ints.push_back(element_at<std::int64_t>(tensor, offset));
      return;
    case DType::kInt32:
      constant.ints.push_back(element_at<std::int32_t>(tensor, offset));
      return;
    case DType::kInt16:
      constant.ints.push_back(element_at<std::int16_t>(tensor, offset));
      return;
    case DType::kInt8:
      constant.ints.push_back(element_at<std::int8_t>(tensor, offset));
      return;
    default:
      constant.ints.push_back(element_at<std::uint8_t>(tensor, offset));
      return;
  }
}

void write_element(const Constant& constant, std::size_t index, const Tensor& tensor) {
  const std::size_t from = constant.uniform ? 0 : index;
  void* const to = static_cast<std::byte*>(tensor.data()) + index * dtype_size(constant.dtype);
  const auto put = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (constant.dtype) {
    case DType::kFloat64:
      return put(constant.floats[from]);
    case DType::kFloat32:
      return put(static_cast<float>(constant.floats[from]));
    case DType::kFloat16:
      return put(double_to_half(constant.floats[from]));
    case DType::kBFloat16:
      return put(
          static_cast<std::uint16_t>(float_bits(static_cast<float>(constant.floats[from])) >> 16));
    case DType::kInt64:
      return put(constant.ints[from]);
    case DType::kInt32:
      return put(static_cast<std::int32_t>(constant.ints[from]));
    case DType::kInt16:
      return put(static_cast<std::int16_t>(constant.ints[from]));
    default:
      return put(static_cast<std::uint8_t>(constant.ints[from]));
  }
}

// Strided order: the offset of row-major element `index`.
std::int64_t offset_of(const Tensor& tensor, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::int64_t d = tensor.rank() - 1; d >= 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    offset += index % tensor.sizes()[at] * tensor.strides()[at];
    index /= tensor.sizes()[at];
  }
  return offset;
}

void make_uniform(Constant& constant) {
  const std::size_t count = constant.stored();
  if (count == 0) return;
  for (std::size_t i = 1; i < count; ++i) {
    const bool same = constant.is_float()
                          ? constant.floats[i] == constant.floats[0] &&
                                std::signbit(constant.floats[i]) == std::signbit(constant.floats[0])
                          : constant.ints[i] == constant.ints[0];
    if (!same) return;
  }
  constant.uniform = true;
  constant.floats.resize(constant.is_float() ? 1 : 0);
  constant.ints.resize(constant.is_float() ? 0 : 1);
}

}  // namespace

double Constant::number(std::size_t index) const {
  const std::size_t at = uniform ? 0 : index;
  return is_float() ? floats.at(at) : static_cast<double>(ints.at(at));
}

Argument Constant::scalar() const {
  if (is_float()) return floats.at(0);
  if (dtype == DType::kBool) return ints.at(0) != 0;
  return ints.at(0);
}

bool Constant::append(double value) {
  if (is_float()) {
    floats.push_back(round_to(dtype, value));
    return true;
  }
  if (dtype == DType::kBool) return append(static_cast<std::int64_t>(value != 0.0));
  if (!(std::abs(value) < 9e18)) return false;
  return append(static_cast<std::int64_t>(value));
}

bool Constant::append(std::int64_t value) {
  if (is_float()) return append(static_cast<double>(value));
  if (dtype == DType::kBool) value = value != 0 ? 1 : 0;
  if (!fits(dtype, value)) return false;
  ints.push_back(value);
  return true;
}

bool is_foldable(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

double round_to(DType dtype, double value) {
  if (dtype == DType::kFloat64 || value == 0.0 || !std::isfinite(value)) return value;
  const FloatFormat format = format_of(dtype);
  int exponent = 0;
  std::frexp(value, &exponent);
  // One unit in the last place at this magnitude.
  const int unit = std::max(exponent - 1, format.min_exponent) - (format.digits - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(rounded) > format.largest ? std::copysign(HUGE_VAL, value) : rounded;
}

std::optional<Constant> constant_of(const Tensor& tensor) {
  if (!tensor.defined() || !is_foldable(tensor.dtype())) return std::nullopt;
  if (tensor.numel() > kMostFoldedElements) return std::nullopt;
  Constant constant;
  constant.dtype = tensor.dtype();
  constant.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    append_element(constant, tensor, offset_of(tensor, i));
  }
  make_uniform(constant);
  return constant;
}

Tensor tensor_of(const Constant& constant) {
  const auto sizes = constants(constant.sizes);
  if (!sizes) throw Error(ErrorKind::kInternal, "a constant of symbolic sizes has no elements");
  Tensor tensor = Tensor::empty(constant.dtype, *sizes);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    write_element(constant, static_cast<std::size_t>(i), tensor);
  }
  return tensor;
}

}  // namespace unfuse::passes
