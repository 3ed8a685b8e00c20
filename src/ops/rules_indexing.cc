#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/graph.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

void check_index_dtype(const TensorType& index) {
  if (index.dtype != DType::kInt64 && index.dtype != DType::kInt32) {
    refuse(fmt::format("an index is int64 or int32, not {}", dtype_name(index.dtype)));
  }
}

/// The indices that are given, one a dimension of self, the absent ones as null.
struct Indices {
  std::vector<const TensorType*> of_dimension;
  std::vector<Dim> sizes;  ///< broadcast over all
};

Indices read_indices(const TensorType& self, const Argument& list) {
  Indices indices;
  for (const Value* value : list.tensors()) {
    if (value == nullptr) {
      indices.of_dimension.push_back(nullptr);
      continue;
    }
    const TensorType& index = value->tensor();
    if (index.dtype == DType::kBool || index.dtype == DType::kUInt8) {
      cannot_tell("the sizes of what a mask selects depend on its elements");
    }
    indices.of_dimension.push_back(&index);
    indices.sizes = broadcast(indices.sizes, index.sizes);
  }
  if (indices.of_dimension.size() > self.sizes.size()) {
    refuse(fmt::format("{} indices do not fit {} dimensions", indices.of_dimension.size(),
                       self.rank()));
  }
  indices.of_dimension.resize(self.sizes.size(), nullptr);
  return indices;
}

/// Where the indexed sizes go: where the indices stand, or in front when they stand apart.
std::optional<std::size_t> first_of_adjacent(const Indices& indices) {
  const std::size_t count = indices.of_dimension.size();
  std::size_t first = 0;
  while (first < count && indices.of_dimension[first] == nullptr) ++first;
  std::size_t end = first;
  while (end < count && indices.of_dimension[end] != nullptr) ++end;
  for (std::size_t i = end; i < count; ++i) {
    if (indices.of_dimension[i] != nullptr) return std::nullopt;
  }
  return first;
}

}  // namespace

// (weight, indices, padding_idx, scale_grad_by_freq, sparse)
std::vector<Type> embedding_type(const Arguments& arguments) {
  const TensorType& weight = tensor_type(arguments[0]);
  const TensorType& indices = tensor_type(arguments[1]);
  check_index_dtype(indices);
  if (weight.rank() != 2) refuse("an embedding's weight has 2 dimensions");
  std::vector<Dim> sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  return {contiguous_like(weight, weight.dtype, std::move(sizes))};
}

// (self, dim, index)
std::vector<Type> index_select_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const TensorType& index = tensor_type(arguments[2]);
  check_index_dtype(index);
  if (index.rank() > 1) refuse("index_select takes an index of one dimension");
  const auto dimension =
      static_cast<std::size_t>(wrap_dimension(arguments[1].integer(), self.rank()));
  std::vector<Dim> sizes = self.sizes;
  if (!sizes.empty()) sizes[dimension] = index.numel();
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

// (self, dim, index, sparse_grad)
std::vector<Type> gather_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const TensorType& index = tensor_type(arguments[2]);
  wrap_dimension(arguments[1].integer(), self.rank());
  check_index_dtype(index);
  if (std::max<std::int64_t>(index.rank(), 1) != std::max<std::int64_t>(self.rank(), 1)) {
    refuse("gather takes an index of as many dimensions as the tensor has");
  }
  return {contiguous_like(self, self.dtype, index.sizes)};
}

// (self, indices)
std::vector<Type> index_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const Indices indices = read_indices(self, arguments[1]);
  const std::optional<std::size_t> first = first_of_adjacent(indices);
  std::vector<Dim> sizes;
  if (!first) sizes = indices.sizes;
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    if (first && i == *first) sizes.insert(sizes.end(), indices.sizes.begin(), indices.sizes.end());
    if (indices.of_dimension[i] == nullptr) sizes.push_back(self.sizes[i]);
  }
  return {contiguous_like(self, self.dtype, std::move(sizes))};
}

// (self, boundaries, out_int32, right)
std::vector<Type> bucketize_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const DType dtype = arguments[2].boolean() ? DType::kInt32 : DType::kInt64;
  return {contiguous_like(self, dtype, self.sizes)};
}

}  // namespace unfuse::ops
