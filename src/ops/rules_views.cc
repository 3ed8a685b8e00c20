#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/graph.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

TensorType permuted(const TensorType& type, const std::vector<std::size_t>& order) {
  TensorType result = type;
  for (std::size_t i = 0; i < order.size(); ++i) {
    result.sizes[i] = type.sizes[order[i]];
    result.strides[i] = type.strides[order[i]];
  }
  return result;
}

TensorType viewed(const TensorType& type, const std::vector<Dim>& wanted) {
  TensorType result = type;
  result.sizes = infer_sizes(wanted, type.numel());
  std::optional<std::vector<Dim>> strides = view_strides(type, result.sizes);
  if (!strides) {
    refuse(fmt::format("{} cannot be viewed with {}; reshape it", to_string(type),
                       Argument(Argument::Ints(result.sizes)).to_string()));
  }
  result.strides = std::move(*strides);
  return result;
}

TensorType reshaped(const TensorType& type, const std::vector<Dim>& wanted) {
  TensorType result = type;
  result.sizes = infer_sizes(wanted, type.numel());
  if (std::optional<std::vector<Dim>> strides = view_strides(type, result.sizes)) {
    result.strides = std::move(*strides);
    return result;
  }
  return contiguous_like(type, type.dtype, std::move(result.sizes));
}

TensorType expanded(const TensorType& type, const std::vector<Dim>& wanted) {
  if (wanted.size() < type.sizes.size()) {
    refuse(fmt::format("{} cannot be expanded to {} dimensions", to_string(type), wanted.size()));
  }
  const std::size_t added = wanted.size() - type.sizes.size();
  TensorType result = type;
  result.sizes = wanted;
  result.strides.assign(wanted.size(), Dim(0));
  for (std::size_t i = wanted.size(); i-- > 0;) {
    const bool is_new = i < added;
    const Dim size = is_new ? Dim(1) : type.sizes[i - added];
    if (is_new && wanted[i] == Dim(-1)) refuse("a new dimension has no size that -1 could keep");
    const Dim target = wanted[i] == Dim(-1) ? size : wanted[i];
    result.sizes[i] = target;
    const bool stretches = equal(size, target) != Answer::kYes && size == Dim(1);
    if (stretches) continue;
    if (equal(size, target) == Answer::kNo) {
      refuse(fmt::format("size {} cannot be expanded to {}", size.to_string(), target.to_string()));
    }
    if (!is_new) {
      result.strides[i] = type.strides[i - added];
    } else if (i + 1 < wanted.size()) {
      result.strides[i] = result.sizes[i + 1] * result.strides[i + 1];
    } else {
      result.strides[i] = 1;
    }
  }
  return result;
}

std::vector<std::int64_t> one_or_more(const Argument& argument) {
  if (argument.holds<Dim>()) return {argument.integer()};
  return argument.integers();
}

Dim merged_size(const TensorType& type, std::size_t first, std::size_t last) {
  Dim size = 1;
  for (std::size_t i = first; i <= last; ++i) size *= type.sizes[i];
  return size;
}

}  // namespace

std::vector<Type> view_type(const Arguments& arguments) {
  return {viewed(tensor_type(arguments[0]), arguments[1].dims())};
}

std::vector<Type> view_dtype_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const auto from = static_cast<std::int64_t>(dtype_size(result.dtype));
  const auto to = static_cast<std::int64_t>(dtype_size(arguments[1].dtype()));
  if (from != to) {
    refuse("a view as a dtype of another width is not known here");
  }
  result.dtype = arguments[1].dtype();
  return {result};
}

std::vector<Type> reshape_type(const Arguments& arguments) {
  return {reshaped(tensor_type(arguments[0]), arguments[1].dims())};
}

std::vector<Type> reshape_as_type(const Arguments& arguments) {
  return {reshaped(tensor_type(arguments[0]), tensor_type(arguments[1]).sizes)};
}

std::vector<Type> view_as_type(const Arguments& arguments) {
  return {viewed(tensor_type(arguments[0]), tensor_type(arguments[1]).sizes)};
}

std::vector<Type> reshape_alias_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  result.sizes = arguments[1].dims();
  result.strides = arguments[2].dims();
  if (result.sizes.size() != result.strides.size()) refuse("sizes and strides differ in number");
  return {result};
}

std::vector<Type> transpose_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::size_t first = dimension_of(arguments[1], result);
  const std::size_t second = dimension_of(arguments[2], result);
  if (result.rank() == 0) return {result};
  std::swap(result.sizes[first], result.sizes[second]);
  std::swap(result.strides[first], result.strides[second]);
  return {result};
}

std::vector<Type> t_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  if (self.rank() > 2) refuse(fmt::format("t takes at most 2 dimensions, not {}", self.rank()));
  return reverse_dimensions_type(arguments);
}

std::vector<Type> reverse_dimensions_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  std::reverse(result.sizes.begin(), result.sizes.end());
  std::reverse(result.strides.begin(), result.strides.end());
  return {result};
}

std::vector<Type> matrix_transpose_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  if (result.rank() == 0) return {result};
  if (result.rank() == 1) refuse(fmt::format("mT takes a matrix, not {}", to_string(result)));
  std::swap(result.sizes.end()[-1], result.sizes.end()[-2]);
  std::swap(result.strides.end()[-1], result.strides.end()[-2]);
  return {result};
}

std::vector<Type> permute_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  std::vector<std::size_t> order;
  std::vector<bool> seen(self.sizes.size(), false);
  for (const std::int64_t dimension : arguments[1].integers()) {
    const auto at = static_cast<std::size_t>(wrap_dimension(dimension, self.rank()));
    if (at >= seen.size() || seen[at]) refuse("permute takes each dimension once");
    seen[at] = true;
    order.push_back(at);
  }
  if (order.size() != seen.size()) refuse("permute takes each dimension once");
  return {permuted(self, order)};
}

std::vector<Type> move_dimension_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::vector<std::int64_t> sources = one_or_more(arguments[1]);
  const std::vector<std::int64_t> targets = one_or_more(arguments[2]);
  if (sources.size() != targets.size()) refuse("movedim takes as many sources as destinations");
  if (self.rank() == 0) return {self};
  const std::vector<bool> moved = dimension_mask(sources, self.rank(), false);
  const std::vector<bool> taken = dimension_mask(targets, self.rank(), false);
  std::vector<std::size_t> order(self.sizes.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto to = static_cast<std::size_t>(wrap_dimension(targets[i], self.rank()));
    order[to] = static_cast<std::size_t>(wrap_dimension(sources[i], self.rank()));
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (taken[i]) continue;
    while (moved[next]) ++next;
    order[i] = next++;
  }
  return {permuted(self, order)};
}

std::vector<Type> expand_type(const Arguments& arguments) {
  return {expanded(tensor_type(arguments[0]), arguments[1].dims())};
}

std::vector<Type> expand_as_type(const Arguments& arguments) {
  return {expanded(tensor_type(arguments[0]), tensor_type(arguments[1]).sizes)};
}

std::vector<Type> broadcast_tensors_type(const Arguments& arguments) {
  std::vector<Dim> sizes;
  for (const Value* value : arguments[0].tensors()) sizes = broadcast(sizes, value->sizes());
  std::vector<Type> results;
  for (const Value* value : arguments[0].tensors()) {
    results.emplace_back(expanded(value->tensor(), sizes));
  }
  return results;
}

// (tensors) or (tensors, indexing): the i-th tensor runs along the i-th dimension of each grid.
std::vector<Type> meshgrid_type(const Arguments& arguments) {
  const Argument::Tensors& tensors = arguments[0].tensors();
  const bool columns_first = arguments.size() > 1 && arguments[1].string() == "xy";
  std::vector<Dim> sizes;
  for (const Value* value : tensors) {
    if (value->rank() > 1) refuse("meshgrid takes tensors of at most one dimension");
    sizes.push_back(value->tensor().numel());
  }
  if (columns_first && sizes.size() > 1) std::swap(sizes[0], sizes[1]);
  std::vector<Type> grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t along = columns_first && i < 2 && tensors.size() > 1 ? 1 - i : i;
    std::vector<Dim> line(sizes.size(), Dim(1));
    line[along] = sizes[along];
    TensorType grid = expanded(viewed(tensors[i]->tensor(), line), sizes);
    grids.emplace_back(std::move(grid));
  }
  return grids;
}

std::vector<Type> squeeze_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  for (std::size_t i = result.sizes.size(); i-- > 0;) {
    if (result.sizes[i] == Dim(1)) erase_dimension(result, i);
  }
  return {result};
}

std::vector<Type> squeeze_dimensions_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::vector<bool> mask =
      dimension_mask(one_or_more(arguments[1]), result.rank(), /*empty_is_all=*/false);
  for (std::size_t i = mask.size(); i-- > 0;) {
    if (mask[i] && result.sizes[i] == Dim(1)) erase_dimension(result, i);
  }
  return {result};
}

std::vector<Type> unsqueeze_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const auto at =
      static_cast<std::size_t>(wrap_dimension(arguments[1].integer(), result.rank() + 1));
  const Dim stride = at < result.sizes.size() ? result.sizes[at] * result.strides[at] : Dim(1);
  insert_dimension(result, at, 1, stride);
  return {result};
}

std::vector<Type> unflatten_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[1], self);
  const std::vector<Dim> inner = infer_sizes(arguments[2].dims(), self.sizes[dimension]);
  std::vector<Dim> sizes = self.sizes;
  const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(dimension);
  sizes.insert(sizes.erase(at), inner.begin(), inner.end());
  return {viewed(self, sizes)};
}

std::vector<Type> flatten_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const std::size_t first = dimension_of(arguments[1], self);
  const std::size_t last = dimension_of(arguments[2], self);
  if (first > last) refuse("flatten takes its first dimension before its last");
  if (self.rank() == 0) return {reshaped(self, {Dim(1)})};
  if (first == last) return {self};
  std::vector<Dim> sizes(self.sizes.begin(),
                         self.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  sizes.push_back(merged_size(self, first, last));
  sizes.insert(sizes.end(), self.sizes.begin() + static_cast<std::ptrdiff_t>(last) + 1,
               self.sizes.end());
  return {reshaped(self, sizes)};
}

std::vector<Type> ravel_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  const TensorType contiguous =
      self.is_contiguous() ? self : contiguous_like(self, self.dtype, self.sizes);
  return {viewed(contiguous, {Dim(-1)})};
}

std::vector<Type> as_strided_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  result.sizes = arguments[1].dims();
  result.strides = arguments[2].dims();
  if (result.sizes.size() != result.strides.size()) refuse("sizes and strides differ in number");
  if (!arguments[3].is_none()) result.storage_offset = arguments[3].dim();
  return {result};
}

std::vector<Type> at_least_1d_type(const Arguments& arguments) {
  const TensorType& self = tensor_type(arguments[0]);
  return self.rank() >= 1 ? std::vector<Type>{self} : std::vector<Type>{viewed(self, {Dim(1)})};
}

std::vector<Type> at_least_2d_type(const Arguments& arguments) {
  TensorType result = std::get<TensorType>(at_least_1d_type(arguments)[0]);
  if (result.rank() >= 2) return {result};
  insert_dimension(result, 0, 1, result.sizes[0] * result.strides[0]);
  return {result};
}

std::vector<Type> at_least_3d_type(const Arguments& arguments) {
  TensorType result = std::get<TensorType>(at_least_2d_type(arguments)[0]);
  if (result.rank() >= 3) return {result};
  insert_dimension(result, 2, 1, 1);
  return {result};
}

}  // namespace unfuse::ops
