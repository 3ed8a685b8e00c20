#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ir/graph.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

MemoryFormat format_or(const Argument& argument, MemoryFormat otherwise) {
  const auto* format = argument.get_if<MemoryFormat>();
  return format == nullptr ? otherwise : *format;
}

TensorType copied(const TensorType& type, MemoryFormat format) {
  TensorType result = type;
  result.strides = strides_of_format(format, type);
  result.storage_offset = 0;
  return result;
}

const std::string& device_or(const Argument& argument, const std::string& otherwise) {
  const auto* device = argument.get_if<Device>();
  return device == nullptr ? otherwise : device->text;
}

DType dtype_or(const Argument& argument, DType otherwise) {
  return argument.is_none() ? otherwise : argument.dtype();
}

bool is_channels_last(const TensorType& type) {
  return type.rank() == 4 && !type.is_contiguous() &&
         type.strides == strides_of_format(MemoryFormat::kChannelsLast, type);
}

/// tensor.to(...): the tensor itself when nothing changes and no copy is asked for.
std::vector<Type> converted(const TensorType& self, DType dtype, const std::string& device,
                            bool copy, const Argument& format) {
  const MemoryFormat wanted = format_or(format, MemoryFormat::kPreserve);
  TensorType result = copied(self, wanted);
  result.dtype = dtype;
  result.device = device;
  // to() takes any layout for the contiguous one that is not a channels-last one.
  const bool laid_out = wanted == MemoryFormat::kPreserve || result.strides == self.strides ||
                        (wanted == MemoryFormat::kContiguous && !is_channels_last(self));
  const bool unchanged = dtype == self.dtype && device == self.device && laid_out;
  if (unchanged && !copy) return {self};
  return {result};
}

std::vector<TensorType> types_of(const Argument& list) {
  std::vector<TensorType> types;
  for (const Value* value : list.tensors()) types.push_back(value->tensor());
  if (types.empty()) refuse("the list of tensors is empty");
  return types;
}

DType common_dtype(const Argument& list) {
  std::vector<Argument> operands(list.tensors().begin(), list.tensors().end());
  return result_dtype(operands);
}

/// cat passes 1-d tensors of no elements over, whatever the others' rank is.
bool is_skipped_by_cat(const TensorType& type) {
  return type.rank() == 1 && type.sizes[0] == Dim(0);
}

const TensorType& first_that_counts(const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    if (!is_skipped_by_cat(type)) return type;
  }
  return types.front();
}

void check_others(const TensorType& first, const TensorType& other, std::size_t dimension) {
  if (other.rank() != first.rank()) {
    refuse(fmt::format("tensors of {} and {} dimensions cannot be put together", first.rank(),
                       other.rank()));
  }
  for (std::size_t i = 0; i < first.sizes.size(); ++i) {
    if (i != dimension && equal(first.sizes[i], other.sizes[i]) == Answer::kNo) {
      refuse(
          fmt::format("{} and {} differ in dimension {}", to_string(first), to_string(other), i));
    }
  }
}

}  // namespace

std::vector<Type> clone_type(const Arguments& arguments) {
  return {copied(tensor_type(arguments[0]), format_or(arguments[1], MemoryFormat::kPreserve))};
}

std::vector<Type> contiguous_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const MemoryFormat format = format_or(arguments[1], MemoryFormat::kContiguous);
  if (format == MemoryFormat::kContiguous && self.is_contiguous()) return {self};
  TensorType result = copied(self, format);
  return result.strides == self.strides ? std::vector<Type>{self} : std::vector<Type>{result};
}

// (self, dtype, layout, device, pin_memory, non_blocking, memory_format)
std::vector<Type> to_copy_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return converted(self, dtype_or(arguments[1], self.dtype), device_or(arguments[3], self.device),
                   /*copy=*/true, arguments[6]);
}

// (self, dtype, non_blocking, copy, memory_format)
std::vector<Type> to_dtype_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return converted(self, arguments[1].dtype(), self.device, arguments[3].boolean(), arguments[4]);
}

// (self, device, dtype, non_blocking, copy, memory_format)
std::vector<Type> to_device_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return converted(self, arguments[2].dtype(), device_or(arguments[1], self.device),
                   arguments[4].boolean(), arguments[5]);
}

// (self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format)
std::vector<Type> to_layout_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return converted(self, dtype_or(arguments[1], self.dtype), device_or(arguments[3], self.device),
                   arguments[6].boolean(), arguments[7]);
}

// (self, other, non_blocking, copy, memory_format)
std::vector<Type> to_other_type(const Arguments& arguments) {
  const TensorType& other = tensor_type(arguments[1]);
  return converted(tensor_type(arguments[0]), other.dtype, other.device, arguments[3].boolean(),
                   arguments[4]);
}

std::vector<Type> type_as_type(const Arguments& arguments) {
  const TensorType& other = tensor_type(arguments[1]);
  return converted(tensor_type(arguments[0]), other.dtype, other.device, /*copy=*/false, nullptr);
}

std::vector<Type> preserving_copy_type(const Arguments& arguments) {
  return {copied(tensor_type(arguments[0]), MemoryFormat::kPreserve)};
}

std::vector<Type> contiguous_copy_type(const Arguments& arguments) {
  return {copied(tensor_type(arguments[0]), MemoryFormat::kContiguous)};
}

std::vector<Type> repeat_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  std::vector<Dim> sizes = arguments[1].dims();
  if (sizes.size() < self.sizes.size()) {
    refuse(fmt::format("repeat takes a count for each of {} dimensions", self.rank()));
  }
  const std::size_t added = sizes.size() - self.sizes.size();
  for (std::size_t i = 0; i < self.sizes.size(); ++i) sizes[added + i] *= self.sizes[i];
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

std::vector<Type> cat_type(const Arguments& arguments) {
  const std::vector<TensorType> types = types_of(arguments[0]);
  const TensorType& first = first_that_counts(types);
  if (first.rank() == 0) refuse("0-d tensors cannot be put together; stack them");
  const auto dimension =
      static_cast<std::size_t>(wrap_dimension(arguments[1].integer(), first.rank()));
  std::vector<Dim> sizes = first.sizes;
  sizes[dimension] = 0;
  for (const TensorType& type : types) {
    if (is_skipped_by_cat(type)) continue;
    check_others(first, type, dimension);
    sizes[dimension] += type.sizes[dimension];
  }
  return {contiguous_like(first, common_dtype(arguments[0]), std::move(sizes))};
}

std::vector<Type> stack_type(const Arguments& arguments) {
  const std::vector<TensorType> types = types_of(arguments[0]);
  const TensorType& first = types.front();
  const std::int64_t dimension = wrap_dimension(arguments[1].integer(), first.rank() + 1);
  for (const TensorType& type : types) check_others(first, type, first.sizes.size());
  std::vector<Dim> sizes = first.sizes;
  sizes.insert(sizes.begin() + dimension, Dim(static_cast<std::int64_t>(types.size())));
  return {contiguous_like(first, common_dtype(arguments[0]), std::move(sizes))};
}

std::vector<Type> pad_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const Argument::Ints& padding = arguments[1].dims();
  if (padding.size() % 2 != 0 || padding.size() / 2 > self.sizes.size()) {
    refuse(fmt::format("{} paddings do not fit {} dimensions", padding.size(), self.rank()));
  }
  std::vector<Dim> sizes = self.sizes;
  for (std::size_t i = 0; i < padding.size() / 2; ++i) {
    Dim& size = sizes[sizes.size() - 1 - i];
    size += padding[2 * i] + padding[2 * i + 1];
    if (size.constant() && *size.constant() < 0) refuse("a negative padding takes too much away");
  }
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

// (self, repeats, dim, output_size)
std::vector<Type> repeat_interleave_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const Dim& repeats = arguments[1].dim();
  if (arguments[2].is_none()) {
    return {contiguous_like(self, self.dtype, {self.numel() * repeats})};
  }
  std::vector<Dim> sizes = self.sizes;
  if (sizes.empty()) sizes = {Dim(1)};
  sizes[static_cast<std::size_t>(wrap_dimension(arguments[2].integer(), self.rank()))] *= repeats;
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

}  // namespace unfuse::ops
