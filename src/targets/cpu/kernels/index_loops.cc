#include "targets/cpu/kernels/index_loops.h"

#include <algorithm>
#include <string>

#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

bool are_adjacent(const std::vector<std::int64_t>& dims) {
  return dims.back() - dims.front() + 1 == static_cast<std::int64_t>(dims.size());
}

std::int64_t product(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

void index_out_of_range(std::int64_t index, std::int64_t size) {
  throw Error(ErrorKind::kInvalidArgument, "index " + std::to_string(index) +
                                               " is out of range for a dimension of size " +
                                               std::to_string(size));
}

IndexLoops::IndexLoops(const char* kernel, const OperandSpec& indexed,
                       const std::vector<std::int64_t>& dims,
                       const std::vector<OperandSpec>& indices, const OperandSpec& slices,
                       bool wrap_negative)
    : wrap_negative_(wrap_negative) {
  require(!dims.empty() && dims.size() == indices.size(), kernel, "indices do not fit the dims");
  require(
      std::is_sorted(dims.begin(), dims.end()) && dims.front() >= 0 && dims.back() < indexed.rank(),
      kernel, "dims that the input does not have, or out of order");
  if (dims.size() > kMaxLoopRank) {
    throw Error(ErrorKind::kUnsupported, "indexing by more than 16 tensors");
  }
  const Sizes& shape = indices[0].sizes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool is_int64 = indices[i].dtype == DType::kInt64;
    require(is_int64 || indices[i].dtype == DType::kInt32, kernel, "an index of another dtype");
    require(indices[i].sizes == shape, kernel, "indices are not expanded to one shape");
    const auto dim = static_cast<std::size_t>(dims[i]);
    dims_.push_back({indexed.sizes[dim], indexed.strides[dim], is_int64});
  }
  const std::size_t place = are_adjacent(dims) ? static_cast<std::size_t>(dims.front()) : 0;
  require(slices.sizes.size() + dims.size() == indexed.sizes.size() + shape.size(), kernel,
          "ranks do not fit");
  const auto begin = static_cast<std::ptrdiff_t>(place);
  const auto end = begin + static_cast<std::ptrdiff_t>(shape.size());
  const auto middle = [&](const Sizes& values) {
    return Sizes(values.begin() + begin, values.begin() + end);
  };
  const auto outside = [&](Sizes values) {
    values.erase(values.begin() + begin, values.begin() + end);
    return values;
  };
  const auto not_indexed = [&](const Sizes& values) {
    Sizes kept;
    for (std::size_t dim = 0; dim < values.size(); ++dim) {
      if (std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(dim)) == dims.end()) {
        kept.push_back(values[dim]);
      }
    }
    return kept;
  };
  require(middle(slices.sizes) == shape && outside(slices.sizes) == not_indexed(indexed.sizes),
          kernel, "sizes do not fit");
  std::vector<Sizes> strides;
  for (const OperandSpec& index : indices) strides.push_back(index.strides);
  strides.push_back(middle(slices.strides));
  positions_ = make_loop_nest(shape, std::move(strides), LoopOrder::kKeep);
  elements_ =
      make_loop_nest(outside(slices.sizes), {not_indexed(indexed.strides), outside(slices.strides)},
                     LoopOrder::kReorder);
}

std::int64_t IndexLoops::position_count() const { return product(positions_.sizes); }
std::int64_t IndexLoops::element_count() const { return product(elements_.sizes); }

IndexLoops::Walker::Walker(const IndexLoops& loops, std::span<void* const> indices,
                           std::int64_t first)
    : loops_(loops), indices_(indices) {
  const LoopNest& nest = loops.positions_;
  for (std::size_t dim = nest.sizes.size(); dim-- > 0;) {
    if (nest.sizes[dim] == 0) continue;  // there is no position to walk to
    position_[dim] = first % nest.sizes[dim];
    first /= nest.sizes[dim];
    for (std::size_t i = 0; i < nest.strides.size(); ++i) {
      offsets_[i] += position_[dim] * nest.strides[i][dim];
    }
  }
}

void IndexLoops::Walker::next() {
  const LoopNest& nest = loops_.positions_;
  for (std::size_t dim = nest.sizes.size(); dim-- > 0;) {
    const bool is_inside = ++position_[dim] < nest.sizes[dim];
    const std::int64_t steps = is_inside ? 1 : 1 - nest.sizes[dim];
    for (std::size_t i = 0; i < nest.strides.size(); ++i) {
      offsets_[i] += steps * nest.strides[i][dim];
    }
    if (is_inside) return;
    position_[dim] = 0;
  }
}

std::int64_t IndexLoops::Walker::indexed_offset() const {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < loops_.dims_.size(); ++i) {
    const IndexedDim& dim = loops_.dims_[i];
    const std::int64_t at = offsets_[i];
    const std::int64_t index = dim.is_int64 ? static_cast<const std::int64_t*>(indices_[i])[at]
                                            : static_cast<const std::int32_t*>(indices_[i])[at];
    const bool wraps = loops_.wrap_negative_ && index < 0;
    const std::int64_t wrapped = wraps ? index + dim.size : index;
    if (wrapped < 0 || wrapped >= dim.size) index_out_of_range(index, dim.size);
    offset += wrapped * dim.stride;
  }
  return offset;
}

}  // namespace unfuse::cpu
