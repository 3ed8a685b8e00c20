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

/// The operands broadcast together. Eager converts those of another dtype than `computed` first, to
/// dense copies, whose strides count then; a `condition` stays as it is.
TensorType pointwise(Operands operands, DType computed, const TensorType* condition = nullptr) {
  const std::vector<const TensorType*> types = tensors_among(operands);
  if (types.empty()) refuse("there is no tensor among the operands");
  TensorType result;
  result.dtype = computed;
  result.device = common_device(types);
  std::vector<TensorType> converted;
  for (const TensorType* type : types) {
    result.sizes = broadcast(result.sizes, type->sizes);
    converted.push_back(*type);
    if (type->dtype != computed && type != condition)
      converted.back().strides = preserved_strides(*type);
  }
  result.strides = pointwise_strides(converted, result.sizes);
  return result;
}

TensorType with_dtype(TensorType type, DType dtype) {
  type.dtype = dtype;
  return type;
}

std::vector<Type> unary(const Arguments& arguments, DType (*dtype_of)(DType)) {
  const DType dtype = tensor_type(arguments[0]).dtype;
  return {with_dtype(pointwise(first(arguments, 1), dtype), dtype_of(dtype))};
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
  return {pointwise(operands, result_dtype(operands))};
}

std::vector<Type> square_type(const Arguments& arguments) {
  return binary_type({arguments[0], Argument(2)});
}

std::vector<Type> reversed_binary_type(const Arguments& arguments) {
  return binary_type({arguments[1], arguments[0]});
}

std::vector<Type> number_power_type(const Arguments& arguments) {
  TensorType result = std::get<TensorType>(binary_type(arguments)[0]);
  result.strides = contiguous_strides(result.sizes);
  return {result};
}

std::vector<Type> binary_floating_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 2);
  return {pointwise(operands, floating(result_dtype(operands)))};
}

std::vector<Type> binary_bool_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 2);
  return {with_dtype(pointwise(operands, result_dtype(operands)), DType::kBool)};
}

std::vector<Type> divide_mode_type(const Arguments& arguments) {
  return arguments[2].is_none() ? binary_floating_type(arguments) : binary_type(arguments);
}

std::vector<Type> float_power_type(const Arguments& arguments) {
  return {pointwise(first(arguments, 2), DType::kFloat64)};
}

std::vector<Type> ternary_type(const Arguments& arguments) {
  const Operands operands = first(arguments, 3);
  return {pointwise(operands, result_dtype(operands))};
}

std::vector<Type> where_type(const Arguments& arguments) {
  const DType condition = tensor_type(arguments[0]).dtype;
  if (condition != DType::kBool && condition != DType::kUInt8) {
    refuse(fmt::format("where takes a bool condition, not {}", dtype_name(condition)));
  }
  const DType dtype = result_dtype(Operands(arguments).subspan(1, 2));
  return {pointwise(first(arguments, 3), dtype, &tensor_type(arguments[0]))};
}

std::vector<Type> masked_fill_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const TensorType& mask = tensor_type(arguments[1]);
  if (mask.dtype != DType::kBool) {
    refuse(fmt::format("masked_fill takes a bool mask, not {}", dtype_name(mask.dtype)));
  }
  return {contiguous_like(self, self.dtype, broadcast(self.sizes, mask.sizes))};
}

std::vector<Type> gated_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const auto dimension =
      static_cast<std::size_t>(wrap_dimension(arguments[1].integer(), self.rank()));
  if (self.rank() == 0) refuse("glu takes a tensor with dimensions");
  const std::optional<Dim> half_size = self.sizes[dimension].exact_quotient(2);
  if (!half_size) {
    refuse(fmt::format("glu halves a dimension, which {} is not even for",
                       self.sizes[dimension].to_string()));
  }
  TensorType half = self;
  half.sizes[dimension] = *half_size;
  half.strides = pointwise_strides({&half, 1}, half.sizes);
  half.storage_offset = 0;
  return {half};
}

std::vector<Type> unchanged_type(const Arguments& arguments) { return {tensor_type(arguments[0])}; }

std::vector<Type> nothing_type(const Arguments&) { return {}; }

}  // namespace unfuse::ops
