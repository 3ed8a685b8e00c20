#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/graph.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

std::size_t dimension_of(const Argument& argument, const TensorType& type) {
  return static_cast<std::size_t>(wrap_dimension(argument.integer(), type.rank()));
}

/// Refuses 0-d tensors, which have no dimension to cut.
std::size_t real_dimension_of(const Argument& argument, const TensorType& type) {
  if (type.rank() == 0) refuse("a 0-d tensor has no dimension to cut");
  return dimension_of(argument, type);
}

TensorType permuted(const TensorType& type, const std::vector<std::size_t>& order) {
  TensorType result = type;
  for (std::size_t i = 0; i < order.size(); ++i) {
    result.sizes[i] = type.sizes[order[i]];
    result.strides[i] = type.strides[order[i]];
  }
  return result;
}

void erase_dimension(TensorType& type, std::size_t dimension) {
  const auto at = static_cast<std::ptrdiff_t>(dimension);
  type.sizes.erase(type.sizes.begin() + at);
  type.strides.erase(type.strides.begin() + at);
}

void insert_dimension(TensorType& type, std::size_t dimension, const Dim& size, const Dim& stride) {
  const auto at = static_cast<std::ptrdiff_t>(dimension);
  type.sizes.insert(type.sizes.begin() + at, size);
  type.strides.insert(type.strides.begin() + at, stride);
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

/// A slice's bound counted from the front and kept within the dimension.
Dim clamp_bound(const Dim& bound, const Dim& size) {
  const auto fixed = bound.constant();
  if (fixed && *fixed == INT64_MAX) return size;
  const Dim counted = fixed && *fixed < 0 ? bound + size : bound;
  SymbolRanges ranges;
  std::vector<std::string> names;
  counted.collect_symbols(names);
  size.collect_symbols(names);
  for (const std::string& name : names) ranges[name] = Range{0, INT64_MAX};
  const Answer below = less_equal(counted, size, ranges);
  const Dim upper = below == Answer::kYes  ? counted
                    : below == Answer::kNo ? size
                                           : Dim::min(counted, size);
  const Answer above = less_equal(0, upper, ranges);
  if (above == Answer::kYes) return upper;
  return above == Answer::kNo ? Dim(0) : Dim::max(upper, 0);
}

TensorType sliced(const TensorType& type, std::size_t dimension, const Dim& start, const Dim& end,
                  std::int64_t step) {
  TensorType result = type;
  const Dim& size = type.sizes[dimension];
  const Dim from = clamp_bound(start, size);
  Dim to = clamp_bound(end, size);
  if (less_equal(to, from) == Answer::kYes) to = from;
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
  if (result.rank() < 2) refuse(fmt::format("mT takes a matrix, not {}", to_string(result)));
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

std::vector<Type> diagonal_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::int64_t offset = arguments[1].integer();
  std::size_t first = dimension_of(arguments[2], result);
  std::size_t second = dimension_of(arguments[3], result);
  if (result.rank() < 2 || first == second) refuse("diagonal takes two different dimensions");
  const Dim rows = result.sizes[first] + Dim(std::min<std::int64_t>(offset, 0));
  const Dim columns = result.sizes[second] - Dim(std::max<std::int64_t>(offset, 0));
  Dim length = rows;
  if (less_equal(rows, columns) != Answer::kYes) {
    length = less_equal(columns, rows) == Answer::kYes ? columns : Dim::min(rows, columns);
  }
  const auto fixed = length.constant();
  const bool empty = fixed && *fixed <= 0;
  const Dim stride = result.strides[first] + result.strides[second];
  if (!empty) {
    result.storage_offset +=
        offset >= 0 ? Dim(offset) * result.strides[second] : Dim(-offset) * result.strides[first];
  }
  erase_dimension(result, std::max(first, second));
  erase_dimension(result, std::min(first, second));
  insert_dimension(result, result.sizes.size(), empty ? Dim(0) : length, stride);
  return {result};
}

std::vector<Type> unfold_type(const Arguments& arguments) {
  TensorType result = tensor_type(arguments[0]);
  const std::size_t dimension = real_dimension_of(arguments[1], result);
  const Dim& size = arguments[2].dim();
  const Dim& step = arguments[3].dim();
  if (less_equal(size, result.sizes[dimension]) == Answer::kNo || step == Dim(0)) {
    refuse(fmt::format("windows of {} do not fit size {}", size.to_string(),
                       result.sizes[dimension].to_string()));
  }
  const Dim stride = result.strides[dimension];
  result.sizes[dimension] = Dim::floordiv(result.sizes[dimension] - size, step) + Dim(1);
  result.strides[dimension] = stride * step;
  insert_dimension(result, result.sizes.size(), size, stride);
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
