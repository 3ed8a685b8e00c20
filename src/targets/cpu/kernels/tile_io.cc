#include "targets/cpu/kernels/tile_io.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "targets/cpu/kernels/convert.h"

namespace unfuse::cpu {
namespace {

/// 16-bit floats and bools as types of their own, so that overloads tell them from integers.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<From, Float16>) {
    return convert<To>(float16_to_float32(value.bits));
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(bfloat16_to_float32(value.bits));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return static_cast<To>(value.byte != 0);
  } else if constexpr (std::is_same_v<To, Float16>) {
    return {float32_to_float16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return {float32_to_bfloat16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return static_cast<To>(float_to_int64(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename Element, typename Register>
void load(const void* from, std::int64_t stride, std::int64_t count, void* to) {
  const auto* source = static_cast<const Element*>(from);
  auto* target = static_cast<Register*>(to);
  if (stride == 0) {
    std::fill_n(target, count, convert<Register>(*source));
    return;
  }
  if (stride != 1) {
    for (std::int64_t i = 0; i < count; ++i) target[i] = convert<Register>(source[i * stride]);
    return;
  }
  if constexpr (std::is_same_v<Element, Register>) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(Element));
  } else if constexpr (std::is_same_v<Element, Float16> && std::is_same_v<Register, float>) {
    float16_to_float32(static_cast<const std::uint16_t*>(from), target, count);
  } else if constexpr (std::is_same_v<Element, BFloat16> && std::is_same_v<Register, float>) {
    bfloat16_to_float32(static_cast<const std::uint16_t*>(from), target, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) target[i] = convert<Register>(source[i]);
  }
}

template <typename Register, typename Element>
void store(const void* from, std::int64_t stride, std::int64_t count, void* to) {
  const auto* source = static_cast<const Register*>(from);
  auto* target = static_cast<Element*>(to);
  if (stride != 1) {
    for (std::int64_t i = 0; i < count; ++i) target[i * stride] = convert<Element>(source[i]);
    return;
  }
  if constexpr (std::is_same_v<Element, Register>) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(Element));
  } else if constexpr (std::is_same_v<Element, Float16> && std::is_same_v<Register, float>) {
    float32_to_float16(source, static_cast<std::uint16_t*>(to), count);
  } else if constexpr (std::is_same_v<Element, BFloat16> && std::is_same_v<Register, float>) {
    float32_to_bfloat16(source, static_cast<std::uint16_t*>(to), count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) target[i] = convert<Element>(source[i]);
  }
}

/// Calls visit with a value of the type that elements of this dtype have in memory.
template <typename Result, typename Visit>
Result visit_element(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kUInt8:
      return visit(std::uint8_t{});
    case DType::kInt8:
      return visit(std::int8_t{});
    case DType::kInt16:
      return visit(std::int16_t{});
    case DType::kInt32:
      return visit(std::int32_t{});
    case DType::kInt64:
      return visit(std::int64_t{});
    case DType::kUInt16:
      return visit(std::uint16_t{});
    case DType::kUInt32:
      return visit(std::uint32_t{});
    case DType::kUInt64:
      return visit(std::uint64_t{});
    case DType::kBool:
      return visit(Bool{});
    case DType::kFloat16:
      return visit(Float16{});
    case DType::kBFloat16:
      return visit(BFloat16{});
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    default:
      return nullptr;
  }
}

}  // namespace

std::int64_t float_to_int64(double value) {
  // 2^63 is exact in float64; the comparison is false for NaN.
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0) {
    return static_cast<std::int64_t>(value);
  }
  return std::numeric_limits<std::int64_t>::min();
}

LoadFunction load_function(DType dtype, RegisterType type) {
  return visit_element<LoadFunction>(dtype, [&](auto element) -> LoadFunction {
    using Element = decltype(element);
    if (type == RegisterType::kFloat32) return load<Element, float>;
    if (type == RegisterType::kFloat64) return load<Element, double>;
    return load<Element, std::int64_t>;
  });
}

StoreFunction store_function(RegisterType type, DType dtype) {
  return visit_element<StoreFunction>(dtype, [&](auto element) -> StoreFunction {
    using Element = decltype(element);
    if (type == RegisterType::kFloat32) return store<float, Element>;
    if (type == RegisterType::kFloat64) return store<double, Element>;
    return store<std::int64_t, Element>;
  });
}

RegisterType natural_register(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return RegisterType::kFloat32;
    case DType::kFloat64:
      return RegisterType::kFloat64;
    default:
      return RegisterType::kInt64;
  }
}

std::size_t register_size(RegisterType type) { return type == RegisterType::kFloat32 ? 4 : 8; }

}  // namespace unfuse::cpu
