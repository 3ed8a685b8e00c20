#include "ops/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/graph.h"
#include "unfuse/error.h"

namespace unfuse::ops {
namespace {

Dim broadcast_size(const Dim& left, const Dim& right) {
  if (left == right || right == Dim(1)) return left;
  if (left == Dim(1)) return right;
  // A constant above one is the result whatever the symbol turns out to be.
  if (left.is_constant() != right.is_constant()) {
    const Dim& fixed = left.is_constant() ? left : right;
    if (fixed != Dim(0)) return fixed;
  }
  refuse(fmt::format("sizes {} and {} do not broadcast", left.to_string(), right.to_string()));
}

/// Exporters leave no symbol that is 0 or 1, so that products grow with every factor.
SymbolRanges ranges_above_one(const Dim& left, const Dim& right) {
  std::vector<std::string> names;
  left.collect_symbols(names);
  right.collect_symbols(names);
  SymbolRanges ranges;
  for (const std::string& name : names) ranges[name] = Range{2, INT64_MAX};
  return ranges;
}

bool known_less_equal(const Dim& left, const Dim& right) {
  std::vector<std::string> names;
  left.collect_symbols(names);
  right.collect_symbols(names);
  SymbolRanges ranges;
  for (const std::string& name : names) ranges[name] = Range{0, INT64_MAX};
  return less_equal(left, right, ranges) == Answer::kYes;
}

/// left is a multiple of right, and not the same.
bool is_proper_multiple(const Dim& left, const Dim& right) {
  const std::optional<Dim> quotient = left.exact_quotient(right);
  return quotient && less_equal(2, *quotient, ranges_above_one(left, right)) == Answer::kYes;
}

/// -1, 0 or 1 as left is less, equal (or not to be told apart) or greater.
int compare(const Dim& left, const Dim& right) {
  if (left == right) return 0;
  // Strides are mostly products of each other, which says more than their difference's range.
  if (is_proper_multiple(right, left)) return -1;
  if (is_proper_multiple(left, right)) return 1;
  const SymbolRanges ranges = ranges_above_one(left, right);
  if (less_equal(left, right, ranges) == Answer::kYes) return -1;
  if (less_equal(right, left, ranges) == Answer::kYes) return 1;
  return 0;
}

/// An operand's strides over the result's sizes: 0 where it is broadcast.
std::vector<Dim> broadcast_strides(const TensorType& operand, const std::vector<Dim>& sizes) {
  std::vector<Dim> strides(sizes.size(), Dim(0));
  const std::size_t offset = sizes.size() - operand.sizes.size();
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    const bool repeated = operand.sizes[i] == Dim(1) && sizes[offset + i] != Dim(1);
    strides[offset + i] = repeated ? Dim(0) : operand.strides[i];
  }
  return strides;
}

/// Whether `first` should come after `second` in an order from the innermost dimension out:
/// 1 yes, -1 no, 0 when no operand tells.
int should_swap(const std::vector<std::vector<Dim>>& strides, const std::vector<Dim>& sizes,
                std::size_t first, std::size_t second) {
  for (const std::vector<Dim>& operand : strides) {
    if (operand[first] == Dim(0) || operand[second] == Dim(0)) continue;
    const int order = compare(operand[first], operand[second]);
    if (order != 0) return order;
    if (compare(sizes[first], sizes[second]) > 0) return 1;
  }
  return 0;
}

/// Dimensions from the innermost out. An insertion sort, since some comparisons are ambiguous.
std::vector<std::size_t> inner_to_outer(const std::vector<std::vector<Dim>>& strides,
                                        const std::vector<Dim>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t current = i;
    for (std::size_t before = i; before-- > 0;) {
      const int comparison = should_swap(strides, sizes, order[before], order[current]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[before], order[current]);
      current = before;
    }
  }
  return order;
}

/// Dense strides with the dimensions in this order.
std::vector<Dim> dense_strides(const std::vector<std::size_t>& order,
                               const std::vector<Dim>& sizes) {
  std::vector<Dim> strides(sizes.size());
  Dim stride = 1;
  for (const std::size_t dimension : order) {
    strides[dimension] = stride;
    if (sizes[dimension] != Dim(0)) stride *= sizes[dimension];
  }
  return strides;
}

bool is_dense(const TensorType& type) {
  const std::vector<std::size_t> order = inner_to_outer({type.strides}, type.sizes);
  Dim expected = 1;
  for (const std::size_t dimension : order) {
    if (type.sizes[dimension] == Dim(1)) continue;
    if (type.strides[dimension] != expected) return false;
    expected *= type.sizes[dimension];
  }
  return true;
}

bool all_alike(std::span<const TensorType> operands, const std::vector<Dim>& sizes) {
  return std::all_of(operands.begin(), operands.end(), [&](const TensorType& operand) {
    return operand.sizes == sizes && operand.strides == operands.front().strides;
  });
}

bool all_contiguous(std::span<const TensorType> operands, const std::vector<Dim>& sizes) {
  return std::all_of(operands.begin(), operands.end(), [&](const TensorType& operand) {
    return operand.sizes == sizes && operand.is_contiguous();
  });
}

/// Gives the dimensions from `view_dimension` down that split the chunk of `chunk_numel` elements
/// their strides; false when they do not come out even.
bool split_chunk(const std::vector<Dim>& sizes, const Dim& chunk_numel, const Dim& base_stride,
                 std::int64_t& view_dimension, std::vector<Dim>& strides) {
  Dim taken = 1;
  while (view_dimension >= 0) {
    const auto at = static_cast<std::size_t>(view_dimension);
    if (taken == chunk_numel && sizes[at] != Dim(1)) break;
    strides[at] = taken * base_stride;
    taken *= sizes[at];
    --view_dimension;
  }
  return taken == chunk_numel;
}

/// Cuts the tensor into chunks of dimensions that lie densely in each other, and lays `sizes` out
/// over them.
std::optional<std::vector<Dim>> split_strides(const TensorType& type,
                                              const std::vector<Dim>& sizes) {
  std::vector<Dim> strides(sizes.size());
  auto view_dimension = static_cast<std::int64_t>(sizes.size()) - 1;
  Dim base_stride = type.strides.back();
  Dim chunk_numel = 1;
  for (std::size_t i = type.sizes.size(); i-- > 0;) {
    chunk_numel *= type.sizes[i];
    const bool chunk_ends =
        i == 0 || (type.sizes[i - 1] != Dim(1) && type.strides[i - 1] != chunk_numel * base_stride);
    if (!chunk_ends) continue;
    if (!split_chunk(sizes, chunk_numel, base_stride, view_dimension, strides)) return std::nullopt;
    if (i == 0) break;
    base_stride = type.strides[i - 1];
    chunk_numel = 1;
  }
  if (view_dimension != -1) return std::nullopt;
  return strides;
}

}  // namespace

void refuse(const std::string& message) { throw Error(ErrorKind::kInvalidArgument, message); }
void cannot_tell(const std::string& message) { throw Error(ErrorKind::kUnsupported, message); }

bool is_tensor(const Argument& argument) {
  const auto* value = argument.get_if<Value*>();
  return value != nullptr && (*value)->is_tensor();
}

const TensorType& tensor_type(const Argument& argument) {
  if (!is_tensor(argument)) refuse(argument.to_string() + " is no tensor");
  return argument.value()->tensor();
}

std::int64_t wrap_dimension(std::int64_t dimension, std::int64_t rank) {
  const std::int64_t limit = std::max<std::int64_t>(rank, 1);
  if (dimension < -limit || dimension >= limit) {
    refuse(
        fmt::format("dimension {} is out of range for a tensor of {} dimensions", dimension, rank));
  }
  return dimension < 0 ? dimension + limit : dimension;
}

std::size_t dimension_of(const Argument& argument, const TensorType& type) {
  return static_cast<std::size_t>(wrap_dimension(argument.integer(), type.rank()));
}

std::size_t real_dimension_of(const Argument& argument, const TensorType& type) {
  if (type.rank() == 0) refuse("a 0-d tensor has no dimension to cut");
  return dimension_of(argument, type);
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

std::vector<bool> dimension_mask(const std::vector<std::int64_t>& dimensions, std::int64_t rank,
                                 bool empty_is_all) {
  const auto size = static_cast<std::size_t>(rank);
  if (dimensions.empty() && empty_is_all) return std::vector<bool>(size, true);
  // A 0-d tensor has a dimension that can be named, but none that can be removed.
  std::vector<bool> mask(std::max<std::size_t>(size, 1), false);
  for (const std::int64_t dimension : dimensions) {
    const auto at = static_cast<std::size_t>(wrap_dimension(dimension, rank));
    if (mask[at]) refuse(fmt::format("dimension {} is named twice", dimension));
    mask[at] = true;
  }
  mask.resize(size);
  return mask;
}

std::vector<Dim> broadcast(const std::vector<Dim>& left, const std::vector<Dim>& right) {
  const std::vector<Dim>& longer = left.size() >= right.size() ? left : right;
  const std::vector<Dim>& shorter = left.size() >= right.size() ? right : left;
  std::vector<Dim> sizes = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    sizes[offset + i] = broadcast_size(longer[offset + i], shorter[i]);
  }
  return sizes;
}

std::vector<Dim> infer_sizes(const std::vector<Dim>& sizes, const Dim& numel) {
  std::vector<Dim> inferred = sizes;
  Dim given = 1;
  Dim* open = nullptr;
  for (Dim& size : inferred) {
    if (size != Dim(-1)) {
      if (size.constant() && *size.constant() < 0) {
        refuse(fmt::format("{} is no size", size.to_string()));
      }
      given *= size;
      continue;
    }
    if (open != nullptr) refuse("only one size can be inferred");
    open = &size;
  }
  if (open == nullptr) {
    if (equal(given, numel) == Answer::kNo) {
      refuse(fmt::format("sizes of {} elements do not fit a tensor of {}", given.to_string(),
                         numel.to_string()));
    }
    return inferred;
  }
  if (given == Dim(0)) refuse("a size cannot be inferred beside a size of 0");
  const bool uneven =
      numel.is_constant() && given.is_constant() && Dim::mod(numel, given) != Dim(0);
  if (uneven) {
    refuse(fmt::format("{} elements cannot be shared out among {}", numel.to_string(),
                       given.to_string()));
  }
  *open = Dim::floordiv(numel, given);
  return inferred;
}

std::optional<std::vector<Dim>> view_strides(const TensorType& type,
                                             const std::vector<Dim>& sizes) {
  if (type.sizes.empty()) return std::vector<Dim>(sizes.size(), Dim(1));
  if (type.numel() == Dim(0)) {
    return type.sizes == sizes ? type.strides : contiguous_strides(sizes);
  }
  if (auto strides = split_strides(type, sizes)) return strides;
  // Symbolic sizes may be beyond comparing piece by piece; a contiguous tensor takes any.
  if (type.is_contiguous()) return contiguous_strides(sizes);
  return std::nullopt;
}

std::vector<Dim> pointwise_strides(std::span<const TensorType> operands,
                                   const std::vector<Dim>& sizes) {
  if (operands.empty() || all_contiguous(operands, sizes)) return contiguous_strides(sizes);
  if (all_alike(operands, sizes) && is_dense(operands.front())) return operands.front().strides;
  std::vector<std::vector<Dim>> strides;
  for (const TensorType& operand : operands) strides.push_back(broadcast_strides(operand, sizes));
  return dense_strides(inner_to_outer(strides, sizes), sizes);
}

std::vector<Dim> preserved_strides(const TensorType& type) {
  if (is_dense(type)) return type.strides;
  return dense_strides(inner_to_outer({type.strides}, type.sizes), type.sizes);
}

std::vector<Dim> strides_of_format(MemoryFormat format, const TensorType& type) {
  if (format == MemoryFormat::kPreserve) return preserved_strides(type);
  if (format == MemoryFormat::kContiguous) return contiguous_strides(type.sizes);
  const std::size_t rank = format == MemoryFormat::kChannelsLast ? 4 : 5;
  if (type.sizes.size() != rank) {
    refuse(fmt::format("{} needs a tensor of {} dimensions, not {}", memory_format_name(format),
                       rank, type.sizes.size()));
  }
  std::vector<std::size_t> order = {1};
  for (std::size_t i = rank; i-- > 2;) order.push_back(i);
  order.push_back(0);
  return dense_strides(order, type.sizes);
}

Dim least(const Dim& left, const Dim& right) {
  if (known_less_equal(left, right)) return left;
  return known_less_equal(right, left) ? right : Dim::min(left, right);
}

Dim greatest(const Dim& left, const Dim& right) {
  if (known_less_equal(left, right)) return right;
  return known_less_equal(right, left) ? left : Dim::max(left, right);
}

TensorType contiguous_like(const TensorType& like, DType dtype, std::vector<Dim> sizes) {
  TensorType type = TensorType::contiguous(dtype, std::move(sizes));
  type.device = like.device;
  return type;
}

}  // namespace unfuse::ops
