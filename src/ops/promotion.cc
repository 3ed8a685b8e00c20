#include "ops/promotion.h"

#include <fmt/format.h>

#include <optional>

#include "ir/graph.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

using Category = std::optional<DType>;

bool is_unsigned_wide(DType dtype) {
  return dtype == DType::kUInt16 || dtype == DType::kUInt32 || dtype == DType::kUInt64;
}

[[noreturn]] void no_promotion(DType left, DType right) {
  refuse(fmt::format("{} and {} have no common dtype", dtype_name(left), dtype_name(right)));
}

DType complex_of(DType floating_dtype) {
  switch (floating_dtype) {
    case DType::kFloat16:
      return DType::kComplex32;
    case DType::kFloat64:
      return DType::kComplex128;
    default:
      return DType::kComplex64;
  }
}

DType promote_integers(DType left, DType right) {
  if (is_unsigned_wide(left) || is_unsigned_wide(right)) {
    const DType other = is_unsigned_wide(left) ? right : left;
    const DType wide = is_unsigned_wide(left) ? left : right;
    if (other == DType::kUInt8) return wide;
    no_promotion(left, right);
  }
  const bool mixed_bytes = (left == DType::kUInt8 && right == DType::kInt8) ||
                           (left == DType::kInt8 && right == DType::kUInt8);
  if (mixed_bytes) return DType::kInt16;
  if (dtype_size(left) == dtype_size(right)) return left;
  return dtype_size(left) > dtype_size(right) ? left : right;
}

DType promote_floating(DType left, DType right) {
  if (dtype_size(left) == 1 || dtype_size(right) == 1) no_promotion(left, right);
  if (dtype_size(left) == dtype_size(right)) return DType::kFloat32;  // float16 and bfloat16
  return dtype_size(left) > dtype_size(right) ? left : right;
}

DType promote_complex(DType left, DType right) {
  const DType complex = is_complex(left) ? left : right;
  const DType other = is_complex(left) ? right : left;
  if (is_complex(other)) return dtype_size(left) > dtype_size(right) ? left : right;
  if (!is_floating_point(other)) return complex;
  const DType widened = complex_of(other == DType::kBFloat16 ? DType::kFloat32 : other);
  return dtype_size(widened) > dtype_size(complex) ? widened : complex;
}

void merge(Category& category, DType dtype) {
  category = category ? promote(*category, dtype) : dtype;
}

Category combine(const Category& higher, const Category& lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_floating_point(*higher)) {
    return is_complex(*lower) ? complex_of(*higher) : higher;
  }
  const bool lower_kind_wins =
      *higher == DType::kBool || is_floating_point(*lower) || is_complex(*lower);
  return lower_kind_wins ? promote(*higher, *lower) : higher;
}

}  // namespace

DType promote(DType left, DType right) {
  if (left == right) return left;
  if (left == DType::kBool) return right;
  if (right == DType::kBool) return left;
  if (is_complex(left) || is_complex(right)) return promote_complex(left, right);
  const bool left_floats = is_floating_point(left);
  const bool right_floats = is_floating_point(right);
  if (left_floats && right_floats) return promote_floating(left, right);
  if (left_floats) return left;
  if (right_floats) return right;
  return promote_integers(left, right);
}

DType floating(DType dtype) {
  return is_floating_point(dtype) || is_complex(dtype) ? dtype : DType::kFloat32;
}

DType number_dtype(const Argument& number) {
  if (number.holds<bool>()) return DType::kBool;
  if (number.holds<Dim>()) return DType::kInt64;
  if (number.holds<double>()) return DType::kFloat32;
  const Type& type = number.value()->type();
  if (std::holds_alternative<BoolType>(type)) return DType::kBool;
  if (std::holds_alternative<IntType>(type)) return DType::kInt64;
  return DType::kFloat32;
}

DType result_dtype(std::span<const Argument> operands) {
  Category dimensioned;
  Category zero_dimensional;
  Category numbers;
  for (const Argument& operand : operands) {
    if (operand.is_none()) continue;
    if (!is_tensor(operand)) {
      merge(numbers, number_dtype(operand));
      continue;
    }
    const TensorType& type = operand.value()->tensor();
    merge(type.rank() > 0 ? dimensioned : zero_dimensional, type.dtype);
  }
  const Category result = combine(dimensioned, combine(zero_dimensional, numbers));
  if (!result) refuse("there is no operand to take a dtype from");
  return *result;
}

}  // namespace unfuse::ops
