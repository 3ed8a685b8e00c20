// Types of ops that slide a window: convolution, pooling, resampling.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ir/graph.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

/// Over the last dimensions of an input, outermost first; each list has one entry a dimension.
struct Windows {
  std::vector<Dim> kernel;
  std::vector<Dim> stride;
  std::vector<Dim> padding;
  std::vector<Dim> dilation;
  bool ceil_mode = false;
};

/// One entry stands for all dimensions, an empty list for `otherwise`.
std::vector<Dim> for_each(const Argument& list, std::size_t count,
                          const std::vector<Dim>& otherwise) {
  const std::vector<Dim>& given = list.dims();
  if (given.empty()) return otherwise;
  if (given.size() == 1) return std::vector<Dim>(count, given[0]);
  if (given.size() != count) {
    refuse(fmt::format("{} numbers do not fit {} dimensions", given.size(), count));
  }
  return given;
}

Dim window_count(const Dim& size, const Windows& windows, std::size_t i) {
  const Dim& stride = windows.stride[i];
  const Dim reach = windows.dilation[i] * (windows.kernel[i] - Dim(1)) + Dim(1);
  const Dim room = size + windows.padding[i] * Dim(2) - reach;
  if (room.constant() && *room.constant() < 0) {
    refuse(fmt::format("a window of {} does not fit size {}", reach.to_string(), size.to_string()));
  }
  if (stride.constant() && *stride.constant() <= 0) refuse("a window takes a positive stride");
  if (!windows.ceil_mode) return Dim::floordiv(room, stride) + Dim(1);
  const Dim count = Dim::floordiv(room + stride - Dim(1), stride) + Dim(1);
  if (!count.is_constant() || !size.is_constant()) {
    refuse("ceil_mode over a symbolic size is not known here");
  }
  // The last window starts inside the input or its left padding.
  const Dim last_start = (count - Dim(1)) * stride;
  const bool starts_outside = less_equal(size + windows.padding[i], last_start) == Answer::kYes;
  return starts_outside ? count - Dim(1) : count;
}

void check_spatial_rank(const TensorType& input, std::size_t spatial) {
  const auto rank = static_cast<std::size_t>(input.rank());
  if (rank != spatial + 1 && rank != spatial + 2) {
    refuse(
        fmt::format("{} has not {} or {} dimensions", to_string(input), spatial + 1, spatial + 2));
  }
}

std::vector<Dim> windowed_sizes(const TensorType& input, const Windows& windows) {
  std::vector<Dim> sizes = input.sizes;
  const std::size_t spatial = windows.kernel.size();
  for (std::size_t i = 0; i < spatial; ++i) {
    Dim& size = sizes[sizes.size() - spatial + i];
    size = window_count(size, windows, i);
  }
  return sizes;
}

TensorType convolved(const TensorType& input, const TensorType& weight, const Windows& windows,
                     const Argument& groups) {
  const std::size_t spatial = windows.kernel.size();
  check_spatial_rank(input, spatial);
  if (input.dtype != weight.dtype) refuse("a convolution takes one dtype");
  const std::size_t channel = input.sizes.size() - spatial - 1;
  if (equal(input.sizes[channel], weight.sizes[1] * groups.dim()) == Answer::kNo) {
    refuse(fmt::format("{} channels do not fit a weight of {} in {} groups",
                       input.sizes[channel].to_string(), weight.sizes[1].to_string(),
                       groups.to_string()));
  }
  std::vector<Dim> sizes = windowed_sizes(input, windows);
  sizes[channel] = weight.sizes[0];
  return contiguous_like(input, input.dtype, std::move(sizes));
}

std::size_t spatial_rank(const TensorType& weight) {
  if (weight.rank() < 3) refuse("a convolution's weight has at least 3 dimensions");
  return weight.sizes.size() - 2;
}

Windows convolution_windows(const TensorType& weight, const Argument& stride,
                            const Argument& padding, const Argument& dilation) {
  const std::size_t spatial = spatial_rank(weight);
  const std::vector<Dim> ones(spatial, Dim(1));
  Windows windows;
  windows.kernel.assign(weight.sizes.begin() + 2, weight.sizes.end());
  windows.stride = for_each(stride, spatial, ones);
  windows.padding = for_each(padding, spatial, std::vector<Dim>(spatial, Dim(0)));
  windows.dilation = for_each(dilation, spatial, ones);
  return windows;
}

/// (self, kernel_size, stride, padding, dilation or absent, ceil_mode); the op's name tells how
/// many dimensions by kernel_size's length.
TensorType pooled(const Arguments& arguments, const Argument& dilation, bool ceil_mode) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t spatial = arguments[1].dims().size();
  check_spatial_rank(self, spatial);
  Windows windows;
  windows.kernel = arguments[1].dims();
  windows.stride = for_each(arguments[2], spatial, windows.kernel);
  windows.padding = for_each(arguments[3], spatial, std::vector<Dim>(spatial, Dim(0)));
  windows.dilation = for_each(dilation, spatial, std::vector<Dim>(spatial, Dim(1)));
  windows.ceil_mode = ceil_mode;
  return contiguous_like(self, self.dtype, windowed_sizes(self, windows));
}

}  // namespace

// (input, weight, bias, stride, padding, dilation, groups)
std::vector<Type> conv_type(const Arguments& arguments) {
  const TensorType& weight = tensor_type(arguments[1]);
  const Windows windows = convolution_windows(weight, arguments[3], arguments[4], arguments[5]);
  return {convolved(tensor_type(arguments[0]), weight, windows, arguments[6])};
}

std::vector<Type> conv_padding_type(const Arguments& arguments) {
  const TensorType& input = tensor_type(arguments[0]);
  const TensorType& weight = tensor_type(arguments[1]);
  const Windows windows =
      convolution_windows(weight, arguments[3], Argument(Argument::Ints{}), arguments[5]);
  const std::string& padding = arguments[4].string();
  if (padding == "valid") return {convolved(input, weight, windows, arguments[6])};
  if (padding != "same") refuse("padding is \"same\" or \"valid\", not \"" + padding + "\"");
  // What "same" adds may differ by one between the two sides; the sizes stay all the same.
  const std::size_t spatial = spatial_rank(weight);
  check_spatial_rank(input, spatial);
  std::vector<Dim> sizes = input.sizes;
  sizes[sizes.size() - spatial - 1] = weight.sizes[0];
  return {contiguous_like(input, input.dtype, std::move(sizes))};
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
std::vector<Type> convolution_type(const Arguments& arguments) {
  if (arguments[6].boolean()) refuse("transposed convolution is not known here");
  const TensorType& weight = tensor_type(arguments[1]);
  const Windows windows = convolution_windows(weight, arguments[3], arguments[4], arguments[5]);
  return {convolved(tensor_type(arguments[0]), weight, windows, arguments[8])};
}

// (self, kernel_size, stride, padding, dilation, ceil_mode)
std::vector<Type> max_pool_type(const Arguments& arguments) {
  return {pooled(arguments, arguments[4], arguments[5].boolean())};
}

std::vector<Type> max_pool_with_indices_type(const Arguments& arguments) {
  TensorType values = pooled(arguments, arguments[4], arguments[5].boolean());
  TensorType indices = values;
  indices.dtype = DType::kInt64;
  return {std::move(values), std::move(indices)};
}

// (self, kernel_size, stride, padding, ceil_mode, ...)
std::vector<Type> avg_pool_type(const Arguments& arguments) {
  return {pooled(arguments, Argument(Argument::Ints{}), arguments[4].boolean())};
}

// (self, output_size, ...)
std::vector<Type> adaptive_pool_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::vector<Dim>& wanted = arguments[1].dims();
  check_spatial_rank(self, wanted.size());
  std::vector<Dim> sizes = self.sizes;
  std::copy(wanted.begin(), wanted.end(), sizes.end() - static_cast<std::ptrdiff_t>(wanted.size()));
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

// (self, output_size, ...)
std::vector<Type> resample_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  if (self.sizes.size() != arguments[1].dims().size() + 2) {
    refuse(fmt::format("{} is no batch of images of {} dimensions", to_string(self),
                       arguments[1].dims().size()));
  }
  return adaptive_pool_type(arguments);
}

}  // namespace unfuse::ops
