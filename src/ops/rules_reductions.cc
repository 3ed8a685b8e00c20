#include <fmt/format.h>

#include <utility>

#include "ir/graph.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

/// None and an int stand for all dimensions and for one.
std::vector<std::int64_t> dimensions_of(const Argument& argument) {
  if (argument.is_none()) return {};
  if (argument.holds<Dim>()) return {argument.integer()};
  return argument.integers();
}

std::vector<Dim> reduced_sizes(const TensorType& self, const std::vector<bool>& mask,
                               bool keepdim) {
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    if (!mask[i]) sizes.push_back(self.sizes[i]);
    if (mask[i] && keepdim) sizes.emplace_back(1);
  }
  return sizes;
}

/// `dimensions` None, an int or a list; an empty list reduces everything.
TensorType reduced(const TensorType& self, const Argument& dimensions, const Argument& keepdim,
                   DType dtype) {
  const std::vector<bool> mask =
      dimension_mask(dimensions_of(dimensions), self.rank(), /*empty_is_all=*/true);
  return contiguous_like(self, dtype, reduced_sizes(self, mask, keepdim.boolean()));
}

TensorType reduced_fully(const TensorType& self, DType dtype) {
  return contiguous_like(self, dtype, {});
}

DType sum_dtype(DType dtype, const Argument& wanted) {
  if (!wanted.is_none()) return wanted.dtype();
  return is_integer(dtype) || dtype == DType::kBool ? DType::kInt64 : dtype;
}

DType mean_dtype(DType dtype, const Argument& wanted) {
  const DType result = wanted.is_none() ? dtype : wanted.dtype();
  if (!is_floating_point(result) && !is_complex(result)) {
    refuse(fmt::format("the mean of {} needs a floating dtype", dtype_name(result)));
  }
  return result;
}

/// any() and all() of uint8 stay uint8.
DType truth_dtype(DType dtype) { return dtype == DType::kUInt8 ? dtype : DType::kBool; }

TensorType with_dtype(TensorType type, DType dtype) {
  type.dtype = dtype;
  return type;
}

}  // namespace

std::vector<Type> sum_all_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced_fully(self, sum_dtype(self.dtype, arguments[1]))};
}

std::vector<Type> sum_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[1], arguments[2], sum_dtype(self.dtype, arguments[3]))};
}

std::vector<Type> prod_type(const Arguments& arguments) { return sum_type(arguments); }

std::vector<Type> mean_all_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced_fully(self, mean_dtype(self.dtype, arguments[1]))};
}

std::vector<Type> mean_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[1], arguments[2], mean_dtype(self.dtype, arguments[3]))};
}

std::vector<Type> extremum_all_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced_fully(self, self.dtype)};
}

std::vector<Type> extremum_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[1], arguments[2], self.dtype)};
}

std::vector<Type> extremum_index_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  TensorType values = reduced(self, arguments[1], arguments[2], self.dtype);
  TensorType indices = with_dtype(values, DType::kInt64);
  return {std::move(values), std::move(indices)};
}

std::vector<Type> any_all_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced_fully(self, truth_dtype(self.dtype))};
}

std::vector<Type> any_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  // Other reductions read an empty list as all dimensions, any.dims and all.dims as none.
  const auto* dimensions = arguments[1].get_if<Argument::Ints>();
  if (dimensions != nullptr && dimensions->empty()) {
    return {contiguous_like(self, truth_dtype(self.dtype), self.sizes)};
  }
  return {reduced(self, arguments[1], arguments[2], truth_dtype(self.dtype))};
}

std::vector<Type> arg_extremum_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[1], arguments[2], DType::kInt64)};
}

std::vector<Type> variance_all_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced_fully(self, mean_dtype(self.dtype, nullptr))};
}

std::vector<Type> variance_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[1], arguments[3], mean_dtype(self.dtype, nullptr))};
}

std::vector<Type> variance_mean_type(const Arguments& arguments) {
  const Type one = variance_type(arguments)[0];
  return {one, one};
}

std::vector<Type> logsumexp_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[1], arguments[2], floating(self.dtype))};
}

// (self, ord, dim[]?, keepdim, dtype)
std::vector<Type> vector_norm_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {reduced(self, arguments[2], arguments[3], mean_dtype(self.dtype, arguments[4]))};
}

std::vector<Type> scan_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  wrap_dimension(arguments[1].integer(), self.rank());
  return {contiguous_like(self, sum_dtype(self.dtype, arguments[2]), self.sizes)};
}

std::vector<Type> sort_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  TensorType values = self;
  values.strides = preserved_strides(self);
  values.storage_offset = 0;
  TensorType indices = with_dtype(values, DType::kInt64);
  return {std::move(values), std::move(indices)};
}

std::vector<Type> argsort_type(const Arguments& arguments) { return {sort_type(arguments)[1]}; }

// (self, k, dim, largest, sorted)
std::vector<Type> topk_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const auto dimension =
      static_cast<std::size_t>(wrap_dimension(arguments[2].integer(), self.rank()));
  const Dim& k = arguments[1].dim();
  std::vector<Dim> sizes = self.sizes;
  if (!sizes.empty()) {
    if (less_equal(k, sizes[dimension]) == Answer::kNo) {
      refuse(fmt::format("there are no {} greatest among {}", k.to_string(),
                         sizes[dimension].to_string()));
    }
    sizes[dimension] = k;
  }
  TensorType values = contiguous_like(self, self.dtype, std::move(sizes));
  TensorType indices = with_dtype(values, DType::kInt64);
  return {std::move(values), std::move(indices)};
}

}  // namespace unfuse::ops
