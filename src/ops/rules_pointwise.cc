#include <fmt/format.h>

#include <array>
#include <span>

#include "ir/graph.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

using Operands = std::span<const Argument>;

Operands first(const Arguments& arguments, std::size_t count) {
  return Operands(arguments).first(count);
}

std::vector<const TensorType*> tensors_among(Operands operands) {
  std::vector<const TensorType*> types;
  for (const Argument& operand : operands) {
    if (is_tensor(operand)) types.push_back(&operand.value()->tensor());
  }
  return types;
}

/// Where the result lives: with the operands that have dimensions, since 0-d CPU tensors may join
/// any device.
const std::string& common_device(const std::vector<const TensorType*>& types) {
  for (const TensorType* type : types) {
    if (type->rank() > 0) return type->device;
  }
  return types.front()->device;
}

/// The operands broadcast together, with this dtype.
std::vector<Type> pointwise(Operands operands, DType dtype) {
  const std::vector<const TensorType*> types = tensors_among(operands);
  if (types.empty()) refuse("there is no tensor among the operands");
  TensorType result;
  result.dtype = dtype;
  for (const TensorType* type : types) result.sizes = broadcast(result.sizes, type->sizes);
  result.strides = pointwise_strides(types, result.sizes);
  result.device = common_device(types);
  return {result};
}

std::vector<Type> unary(const Arguments& arguments, DType (*dtype_of)(DType)) {
  return pointwise(first(arguments, 1), dtype_of(tensor_type(arguments[0]).dtype));
}

DType always_bool(DType) { return DType::kBool; }
DType same(DType dtype) { return dtype; }

DType magnitude(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    default:
      return dtype;
  }
}

}  // namespace

std::vector<Type> unary_type(const Arguments& arguments) { return unary(arguments, same); }

std::vector<Type> unary_magnitude_type(const Arguments& arguments) {
  return unary(arguments, magnitude);
}

std::vector<Type> unary_floating_type(const Arguments& arguments) {
  return unary(arguments, floating);
}

std::vector<Type> unary_bool_type(const Arguments& arguments) {
  return unary(arguments, always_bool);
}

std::vector<Type> binary_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 2);
  return pointwise(operands, result_dtype(operands));
}

std::vector<Type> binary_floating_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 2);
  return pointwise(operands, floating(result_dtype(operands)));
}

std::vector<Type> binary_bool_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 2);
  result_dtype(operands);  // refuses dtypes that cannot be compared
  return pointwise(operands, DType::kBool);
}

std::vector<Type> divide_mode_type(const Arguments& arguments) {
  return arguments[2].is_none() ? binary_floating_type(arguments) : binary_type(arguments);
}

std::vector<Type> float_power_type(const Arguments& arguments) {
  return pointwise(first(arguments, 2), DType::kFloat64);
}

std::vector<Type> ternary_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 3);
  return pointwise(operands, result_dtype(operands));
}

std::vector<Type> where_type(const Arguments& arguments) {
  const DType condition = tensor_type(arguments[0]).dtype;
  if (condition != DType::kBool && condition != DType::kUInt8) {
    refuse(fmt::format("where takes a bool condition, not {}", dtype_name(condition)));
  }
  return pointwise(first(arguments, 3), result_dtype(Operands(arguments).subspan(1, 2)));
}

std::vector<Type> masked_fill_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const TensorType& mask = tensor_type(arguments[1]);
  if (mask.dtype != DType::kBool) {
    refuse(fmt::format("masked_fill takes a bool mask, not {}", dtype_name(mask.dtype)));
  }
  TensorType result = self;
  result.sizes = broadcast(self.sizes, mask.sizes);
  result.storage_offset = 0;
  TensorType expanded = std::get<TensorType>(
      expand_type({arguments[0], Argument(Argument::Ints(result.sizes)), Argument(false)})[0]);
  result.strides = preserved_strides(expanded);
  return {result};
}

std::vector<Type> gated_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const auto dimension =
      static_cast<std::size_t>(wrap_dimension(arguments[1].integer(), self.rank()));
  if (self.rank() == 0) refuse("glu takes a tensor with dimensions");
  std::vector<Dim> sizes = self.sizes;
  const std::optional<Dim> half = sizes[dimension].exact_quotient(2);
  if (!half) {
    refuse(fmt::format("glu halves a dimension, which {} is not even for",
                       sizes[dimension].to_string()));
  }
  sizes[dimension] = *half;
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

std::vector<Type> in_place_type(const Arguments& arguments) { return {tensor_type(arguments[0])}; }

}  // namespace unfuse::ops
