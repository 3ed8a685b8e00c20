#include <fmt/format.h>

#include <utility>

#include "ir/graph.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

TensorType contiguous_as(const TensorType& self) {
  return contiguous_like(self, self.dtype, self.sizes);
}

void check_normalized_shape(const TensorType& input, const std::vector<Dim>& shape) {
  if (shape.empty() || shape.size() > input.sizes.size()) {
    refuse(fmt::format("layer_norm over {} dimensions does not fit {}", shape.size(),
                       to_string(input)));
  }
  const std::size_t offset = input.sizes.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (equal(input.sizes[offset + i], shape[i]) == Answer::kNo) {
      refuse(fmt::format("layer_norm over {} does not fit {}",
                         Argument(Argument::Ints(shape)).to_string(), to_string(input)));
    }
  }
}

/// float32 statistics go with 16-bit inputs when the weights are float32 already.
DType statistics_dtype(const TensorType& input, const Argument& weight) {
  return weight.is_none() ? input.dtype : promote(input.dtype, tensor_type(weight).dtype);
}

}  // namespace

std::vector<Type> layer_norm_type(const Arguments& arguments) {
  const TensorType& input = tensor_type(arguments[0]);
  check_normalized_shape(input, arguments[1].dims());
  return {contiguous_as(input)};
}

std::vector<Type> native_layer_norm_type(const Arguments& arguments) {
  const TensorType& input = tensor_type(arguments[0]);
  const std::vector<Dim>& shape = arguments[1].dims();
  check_normalized_shape(input, shape);
  std::vector<Dim> sizes = input.sizes;
  for (std::size_t i = sizes.size() - shape.size(); i < sizes.size(); ++i) sizes[i] = 1;
  const TensorType statistics =
      contiguous_like(input, statistics_dtype(input, arguments[2]), std::move(sizes));
  return {contiguous_as(input), statistics, statistics};
}

std::vector<Type> normalized_type(const Arguments& arguments) {
  return {contiguous_as(tensor_type(arguments[0]))};
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps), in inference
std::vector<Type> native_batch_norm_type(const Arguments& arguments) {
  const TensorType& input = tensor_type(arguments[0]);
  const TensorType saved = contiguous_like(input, input.dtype, {Dim(0)});
  return {contiguous_as(input), saved, saved};
}

// (input, weight, bias, N, C, HxW, group, eps)
std::vector<Type> native_group_norm_type(const Arguments& arguments) {
  const TensorType& input = tensor_type(arguments[0]);
  const TensorType statistics = contiguous_like(input, statistics_dtype(input, arguments[1]),
                                                {arguments[3].dim(), arguments[6].dim()});
  return {contiguous_as(input), statistics, statistics};
}

std::vector<Type> softmax_type(const Arguments& arguments) {
  TensorType result = contiguous_as(tensor_type(arguments[0]));
  wrap_dimension(arguments[1].integer(), result.rank());
  if (!arguments[2].is_none()) result.dtype = arguments[2].dtype();
  if (!is_floating_point(result.dtype)) {
    refuse(fmt::format("softmax needs a floating dtype, not {}", dtype_name(result.dtype)));
  }
  return {result};
}

std::vector<Type> plain_softmax_type(const Arguments& arguments) {
  const DType dtype = tensor_type(arguments[0]).dtype;
  const Argument wanted = arguments[2].boolean() ? Argument(DType::kFloat32) : Argument(dtype);
  return softmax_type({arguments[0], arguments[1], wanted});
}

std::vector<Type> native_dropout_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  result.strides = preserved_strides(result);
  result.storage_offset = 0;
  TensorType mask = result;
  mask.dtype = DType::kBool;
  return {result, mask};
}

}  // namespace unfuse::ops
