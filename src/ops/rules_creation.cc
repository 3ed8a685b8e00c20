#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "ir/graph.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

TensorType created(std::vector<Dim> sizes, DType dtype, const Argument& device) {
  for (const Dim& size : sizes) {
    if (size.constant() && *size.constant() < 0) {
      refuse(fmt::format("{} is no size", size.to_string()));
    }
  }
  TensorType type = TensorType::contiguous(dtype, std::move(sizes));
  if (const auto* given = device.get_if<Device>()) type.device = given->text;
  return type;
}

DType dtype_or(const Argument& argument, DType otherwise) {
  return argument.is_none() ? otherwise : argument.dtype();
}

TensorType made_like(const TensorType& self, const Argument& dtype, const Argument& device,
                     const Argument& format) {
  TensorType type = self;
  const auto* wanted = format.get_if<MemoryFormat>();
  type.strides = strides_of_format(wanted == nullptr ? MemoryFormat::kPreserve : *wanted, self);
  type.storage_offset = 0;
  type.dtype = dtype_or(dtype, self.dtype);
  if (const auto* given = device.get_if<Device>()) type.device = given->text;
  return type;
}

TensorType made_new(const TensorType& self, std::vector<Dim> sizes, const Argument& dtype,
                    const Argument& device) {
  TensorType type = created(std::move(sizes), dtype_or(dtype, self.dtype), device);
  if (device.is_none()) type.device = self.device;
  return type;
}

bool all_integers(const Argument& start, const Argument& end, const Argument& step) {
  return !start.holds<double>() && !end.holds<double>() && !step.holds<double>();
}

/// Integers are cut before they are counted: arange(3.5, dtype=int64) has 3 elements.
double range_number(const Argument& number, DType dtype) {
  return dtype == DType::kInt64 ? std::trunc(number.number()) : number.number();
}

/// How many numbers lie in [start, end) `step` apart.
Dim range_length(const Argument& start, const Argument& end, const Argument& step, DType dtype) {
  if (!start.is_constant_scalar() || !end.is_constant_scalar() || !step.is_constant_scalar()) {
    if (!all_integers(start, end, step)) cannot_tell("arange of a symbolic size takes ints");
    const std::int64_t by = step.integer();
    if (by <= 0) cannot_tell("arange of a symbolic size takes a positive step");
    return Dim::floordiv(end.dim() - start.dim() + Dim(by - 1), by);
  }
  const double by = range_number(step, dtype);
  const double length = std::ceil((range_number(end, dtype) - range_number(start, dtype)) / by);
  if (by == 0 || !std::isfinite(length) || length < 0) {
    refuse(fmt::format("arange cannot go from {} to {} by {}", start.to_string(), end.to_string(),
                       step.to_string()));
  }
  return Dim(static_cast<std::int64_t>(length));
}

std::vector<Type> ranged(const Argument& start, const Argument& end, const Argument& step,
                         const Argument& dtype, const Argument& device) {
  const DType otherwise = all_integers(start, end, step) ? DType::kInt64 : DType::kFloat32;
  const DType given = dtype_or(dtype, otherwise);
  return {created({range_length(start, end, step, given)}, given, device)};
}

}  // namespace

// (size, fill_value, dtype, layout, device, pin_memory)
std::vector<Type> full_type(const Arguments& arguments) {
  return {created(arguments[0].dims(), dtype_or(arguments[2], number_dtype(arguments[1])),
                  arguments[4])};
}

// (size, dtype, layout, device, pin_memory)
std::vector<Type> sized_type(const Arguments& arguments) {
  return {created(arguments[0].dims(), dtype_or(arguments[1], DType::kFloat32), arguments[3])};
}

// (size, dtype, layout, device, pin_memory, memory_format)
std::vector<Type> empty_type(const Arguments& arguments) {
  TensorType type = std::get<TensorType>(sized_type(arguments)[0]);
  if (const auto* format = arguments[5].get_if<MemoryFormat>()) {
    type.strides = strides_of_format(*format, type);
  }
  return {type};
}

// (self, fill_value, dtype, layout, device, pin_memory, memory_format)
std::vector<Type> full_like_type(const Arguments& arguments) {
  return {made_like(tensor_type(arguments[0]), arguments[2], arguments[4], arguments[6])};
}

// (self, dtype, layout, device, pin_memory, memory_format)
std::vector<Type> like_type(const Arguments& arguments) {
  return {made_like(tensor_type(arguments[0]), arguments[1], arguments[3], arguments[5])};
}

// (self, size, fill_value, dtype, layout, device, pin_memory)
std::vector<Type> new_full_type(const Arguments& arguments) {
  return {made_new(tensor_type(arguments[0]), arguments[1].dims(), arguments[3], arguments[5])};
}

// (self, size, dtype, layout, device, pin_memory)
std::vector<Type> new_sized_type(const Arguments& arguments) {
  return {made_new(tensor_type(arguments[0]), arguments[1].dims(), arguments[2], arguments[4])};
}

// (end, dtype, layout, device, pin_memory)
std::vector<Type> arange_type(const Arguments& arguments) {
  return ranged(0, arguments[0], 1, arguments[1], arguments[3]);
}

// (start, end, dtype, layout, device, pin_memory)
std::vector<Type> arange_start_type(const Arguments& arguments) {
  return ranged(arguments[0], arguments[1], 1, arguments[2], arguments[4]);
}

// (start, end, step, dtype, layout, device, pin_memory)
std::vector<Type> arange_step_type(const Arguments& arguments) {
  return ranged(arguments[0], arguments[1], arguments[2], arguments[3], arguments[5]);
}

// (start, end, steps, dtype, layout, device, pin_memory)
std::vector<Type> linspace_type(const Arguments& arguments) {
  return {created({arguments[2].dim()}, dtype_or(arguments[3], DType::kFloat32), arguments[5])};
}

// (s, dtype, layout, device, pin_memory)
std::vector<Type> scalar_tensor_type(const Arguments& arguments) {
  return {created({}, dtype_or(arguments[1], DType::kFloat32), arguments[3])};
}

// (n, dtype, layout, device, pin_memory)
std::vector<Type> eye_type(const Arguments& arguments) {
  const Dim& n = arguments[0].dim();
  return {created({n, n}, dtype_or(arguments[1], DType::kFloat32), arguments[3])};
}

// (n, m, dtype, layout, device, pin_memory)
std::vector<Type> eye_m_type(const Arguments& arguments) {
  return {created({arguments[0].dim(), arguments[1].dim()}, dtype_or(arguments[2], DType::kFloat32),
                  arguments[4])};
}

}  // namespace unfuse::ops
