#include "cli/elements.h"

#include <cstdint>
#include <cstring>

#include "targets/cpu/kernels/convert.h"
#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

template <typename T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

[[noreturn]] void refuse(DType dtype) {
  throw Error(ErrorKind::kInternal,
              "elements of " + std::string(dtype_name(dtype)) + " are no numbers to us");
}

}  // namespace

double read_number(const std::byte* element, DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return load<std::uint8_t>(element);
    case DType::kInt8:
      return load<std::int8_t>(element);
    case DType::kInt16:
      return load<std::int16_t>(element);
    case DType::kUInt16:
      return load<std::uint16_t>(element);
    case DType::kInt32:
      return load<std::int32_t>(element);
    case DType::kUInt32:
      return load<std::uint32_t>(element);
    case DType::kInt64:
      return static_cast<double>(load<std::int64_t>(element));
    case DType::kUInt64:
      return static_cast<double>(load<std::uint64_t>(element));
    case DType::kFloat16:
      return cpu::float16_to_float32(load<std::uint16_t>(element));
    case DType::kBFloat16:
      return cpu::bfloat16_to_float32(load<std::uint16_t>(element));
    case DType::kFloat32:
      return load<float>(element);
    case DType::kFloat64:
      return load<double>(element);
    default:
      refuse(dtype);
  }
}

void write_number(std::byte* element, DType dtype, double value) {
  switch (dtype) {
    case DType::kBool:
      return store(element, static_cast<std::uint8_t>(value != 0));
    case DType::kUInt8:
      return store(element, static_cast<std::uint8_t>(value));
    case DType::kInt8:
      return store(element, static_cast<std::int8_t>(value));
    case DType::kInt16:
      return store(element, static_cast<std::int16_t>(value));
    case DType::kUInt16:
      return store(element, static_cast<std::uint16_t>(value));
    case DType::kInt32:
      return store(element, static_cast<std::int32_t>(value));
    case DType::kUInt32:
      return store(element, static_cast<std::uint32_t>(value));
    case DType::kInt64:
      return store(element, static_cast<std::int64_t>(value));
    case DType::kUInt64:
      return store(element, static_cast<std::uint64_t>(value));
    case DType::kFloat16:
      return store(element, cpu::float32_to_float16(static_cast<float>(value)));
    case DType::kBFloat16:
      return store(element, cpu::float32_to_bfloat16(static_cast<float>(value)));
    case DType::kFloat32:
      return store(element, static_cast<float>(value));
    case DType::kFloat64:
      return store(element, value);
    default:
      refuse(dtype);
  }
}

std::size_t numbers_in(DType dtype) { return is_complex(dtype) ? 2 : 1; }

DType number_type(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

bool has_numbers(DType dtype) {
  const DType number = number_type(dtype);
  return number == DType::kBool || is_integer(number) ||
         (is_floating_point(number) && dtype_size(number) > 1);
}

}  // namespace unfuse::cli
