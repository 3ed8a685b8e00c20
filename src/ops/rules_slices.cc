#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/graph.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

/// A slice's bound counted from the front and kept within the dimension.
Dim clamp_bound(const Dim& bound, const Dim& size) {
  const auto fixed = bound.constant();
  if (fixed && *fixed == INT64_MAX) return size;
  const Dim counted = fixed && *fixed < 0 ? bound + size : bound;
  return greatest(least(counted, size), 0);
}

TensorType sliced(const TensorType& type, std::size_t dimension, const Dim& start, const Dim& end,
                  std::int64_t step) {
  TensorType result = type;
  const Dim& size = type.sizes[dimension];
  const Dim from = clamp_bound(start, size);
  const Dim to = greatest(clamp_bound(end, size), from);
  result.sizes[dimension] = Dim::floordiv(to - from + Dim(step - 1), step);
  result.strides[dimension] = type.strides[dimension] * Dim(step);
  result.storage_offset += from * type.strides[dimension];
  return result;
}

/// Consecutive pieces of these lengths.
std::vector<Type> pieces(const TensorType& type, std::size_t dimension,
                         const std::vector<Dim>& lengths) {
  std::vector<Type> results;
  Dim start = 0;
  for (const Dim& length : lengths) {
    TensorType piece = type;
    piece.sizes[dimension] = length;
    piece.storage_offset += start * type.strides[dimension];
    results.emplace_back(std::move(piece));
    start += length;
  }
  return results;
}

std::int64_t constant_size(const TensorType& type, std::size_t dimension) {
  const auto size = type.sizes[dimension].constant();
  if (!size) refuse("how many pieces there are depends on a symbolic size");
  return *size;
}

std::vector<Dim> equal_lengths(std::int64_t size, std::int64_t length) {
  if (length < 0 || (length == 0 && size != 0)) {
    refuse(fmt::format("{} elements cannot be split into pieces of {}", size, length));
  }
  std::vector<Dim> lengths;
  if (size == 0 || length == 0) return {Dim(size)};
  for (std::int64_t start = 0; start < size; start += length) {
    lengths.emplace_back(std::min(length, size - start));
  }
  return lengths;
}

TensorType selected(const TensorType& type, std::size_t dimension, const Dim& index) {
  TensorType result = type;
  const auto fixed = index.constant();
  const Dim counted = fixed && *fixed < 0 ? index + type.sizes[dimension] : index;
  const bool out_of_range = less_equal(type.sizes[dimension], counted) == Answer::kYes ||
                            (counted.constant() && *counted.constant() < 0);
  if (out_of_range) {
    refuse(fmt::format("index {} is out of range for a dimension of size {}", index.to_string(),
                       type.sizes[dimension].to_string()));
  }
  result.storage_offset += counted * type.strides[dimension];
  erase_dimension(result, dimension);
  return result;
}

}  // namespace

std::vector<Type> select_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return {selected(self, real_dimension_of(arguments[1], self), arguments[2].dim())};
}

std::vector<Type> slice_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[1], self);
  const Dim start = arguments[2].is_none() ? Dim(0) : arguments[2].dim();
  const Dim end = arguments[3].is_none() ? Dim(INT64_MAX) : arguments[3].dim();
  const std::int64_t step = arguments[4].integer();
  if (step <= 0) refuse(fmt::format("a slice takes a positive step, not {}", step));
  return {sliced(self, dimension, start, end, step)};
}

std::vector<Type> narrow_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[1], result);
  const Dim& given = arguments[2].dim();
  const auto fixed = given.constant();
  const Dim start = fixed && *fixed < 0 ? given + result.sizes[dimension] : given;
  const Dim& length = arguments[3].dim();
  if (less_equal(start + length, result.sizes[dimension]) == Answer::kNo) {
    refuse(fmt::format("a piece of {} from {} on exceeds size {}", length.to_string(),
                       start.to_string(), result.sizes[dimension].to_string()));
  }
  result.sizes[dimension] = length;
  result.storage_offset += start * result.strides[dimension];
  return {result};
}

std::vector<Type> split_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[2], self);
  const Dim& length = arguments[1].dim();
  if (length == self.sizes[dimension]) return {self};
  const std::optional<Dim> count = self.sizes[dimension].exact_quotient(length);
  if (count && count->is_constant() && *count != Dim(0)) {
    const std::vector<Dim> lengths(static_cast<std::size_t>(*count->constant()), length);
    return pieces(self, dimension, lengths);
  }
  return pieces(self, dimension,
                equal_lengths(constant_size(self, dimension), arguments[1].integer()));
}

std::vector<Type> split_sizes_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[2], self);
  Dim total = 0;
  for (const Dim& length : arguments[1].dims()) total += length;
  if (equal(total, self.sizes[dimension]) == Answer::kNo) {
    refuse(fmt::format("pieces of {} in all do not make up size {}", total.to_string(),
                       self.sizes[dimension].to_string()));
  }
  return pieces(self, dimension, arguments[1].dims());
}

std::vector<Type> chunk_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[2], self);
  const std::int64_t count = arguments[1].integer();
  if (count <= 0) refuse(fmt::format("chunk takes a positive count, not {}", count));
  if (const std::optional<Dim> length = self.sizes[dimension].exact_quotient(count);
      length && !length->is_constant()) {
    return pieces(self, dimension, std::vector<Dim>(static_cast<std::size_t>(count), *length));
  }
  const std::int64_t size = constant_size(self, dimension);
  if (size == 0) {
    return pieces(self, dimension, std::vector<Dim>(static_cast<std::size_t>(count), Dim(0)));
  }
  return pieces(self, dimension, equal_lengths(size, (size + count - 1) / count));
}

std::vector<Type> tensor_split_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[2], self);
  const std::int64_t count = arguments[1].integer();
  if (count <= 0) refuse(fmt::format("tensor_split takes a positive count, not {}", count));
  const std::int64_t size = constant_size(self, dimension);
  std::vector<Dim> lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.emplace_back(size / count + (i < size % count));
  return pieces(self, dimension, lengths);
}

std::vector<Type> tensor_split_indices_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[2], self);
  std::vector<Dim> bounds = arguments[1].dims();
  bounds.emplace_back(INT64_MAX);
  std::vector<Type> results;
  Dim start = 0;
  for (const Dim& end : bounds) {
    results.emplace_back(sliced(self, dimension, start, end, 1));
    start = end;
  }
  return results;
}

std::vector<Type> unbind_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[1], self);
  std::vector<Type> results;
  for (std::int64_t i = 0; i < constant_size(self, dimension); ++i) {
    results.emplace_back(selected(self, dimension, i));
  }
  return results;
}

std::vector<Type> diagonal_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::int64_t offset = arguments[1].integer();
  std::size_t first = dimension_of(arguments[2], result);
  std::size_t second = dimension_of(arguments[3], result);
  if (result.rank() < 2 || first == second) refuse("diagonal takes two different dimensions");
  const Dim rows = result.sizes[first] + Dim(std::min<std::int64_t>(offset, 0));
  const Dim columns = result.sizes[second] - Dim(std::max<std::int64_t>(offset, 0));
  const Dim length = greatest(least(rows, columns), 0);
  const bool empty = length == Dim(0);
  const Dim stride = result.strides[first] + result.strides[second];
  if (!empty) {
    result.storage_offset +=
        offset >= 0 ? Dim(offset) * result.strides[second] : Dim(-offset) * result.strides[first];
  }
  erase_dimension(result, std::max(first, second));
  erase_dimension(result, std::min(first, second));
  insert_dimension(result, result.sizes.size(), length, stride);
  return {result};
}

std::vector<Type> unfold_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::size_t dimension = dimension_of(arguments[1], result);
  const Dim& size = arguments[2].dim();
  const Dim& step = arguments[3].dim();
  const bool has_dimension = result.rank() > 0;
  const Dim length = has_dimension ? result.sizes[dimension] : Dim(1);
  if (less_equal(size, length) == Answer::kNo || step == Dim(0)) {
    refuse(fmt::format("windows of {} do not fit size {}", size.to_string(), length.to_string()));
  }
  if (!has_dimension) {
    insert_dimension(result, 0, size, 1);
    return {result};
  }
  const Dim stride = result.strides[dimension];
  result.sizes[dimension] = Dim::floordiv(length - size, step) + Dim(1);
  result.strides[dimension] = stride * step;
  insert_dimension(result, result.sizes.size(), size, stride);
  return {result};
}

}  // namespace unfuse::ops
