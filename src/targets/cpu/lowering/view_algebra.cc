#include "targets/cpu/lowering/view_algebra.h"

#include <string>
#include <utility>

#include "targets/cpu/layout.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

std::size_t at(std::int64_t dimension) { return static_cast<std::size_t>(dimension); }

[[noreturn]] void no_such_dimension(std::int64_t dimension, std::int64_t count) {
  throw Error(ErrorKind::kInvalidArgument,
              "dimension " + std::to_string(dimension) + " of " + std::to_string(count));
}

[[noreturn]] void cannot_broadcast(const View& view, const Sizes& sizes) {
  throw Error(ErrorKind::kInvalidArgument,
              "sizes " + sizes_text(view.sizes()) + " do not broadcast to " + sizes_text(sizes));
}

}  // namespace

View broadcast(const View& view, const Sizes& sizes) {
  if (view.sizes().size() > sizes.size()) cannot_broadcast(view, sizes);
  const std::size_t missing = sizes.size() - view.sizes().size();
  View result = view;
  result.spec.sizes = sizes;
  result.spec.strides.assign(sizes.size(), 0);
  for (std::size_t i = missing; i < sizes.size(); ++i) {
    const std::int64_t size = view.sizes()[i - missing];
    if (size == sizes[i]) {
      result.spec.strides[i] = view.strides()[i - missing];
    } else if (size != 1) {
      cannot_broadcast(view, sizes);
    }
  }
  return result;
}

View permuted(const View& view, const std::vector<std::int64_t>& dimensions) {
  if (dimensions.size() != view.sizes().size()) {
    throw Error(ErrorKind::kInvalidArgument, "a permutation must name every dimension");
  }
  View result = view;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::int64_t from = wrapped(dimensions[i], view.rank());
    result.spec.sizes[i] = view.size(from);
    result.spec.strides[i] = view.stride(from);
  }
  return result;
}

View transposed(const View& view, std::int64_t first, std::int64_t second) {
  View result = view;
  if (view.rank() == 0) return result;
  const std::size_t a = at(wrapped(first, view.rank()));
  const std::size_t b = at(wrapped(second, view.rank()));
  std::swap(result.spec.sizes[a], result.spec.sizes[b]);
  std::swap(result.spec.strides[a], result.spec.strides[b]);
  return result;
}

View sliced(const View& view, std::int64_t dimension, std::int64_t start, std::int64_t length,
            std::int64_t step) {
  if (length < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                "the inputs are too small: a slice would have a negative length");
  }
  View result = view;
  result.offset += start * view.stride(dimension);
  result.spec.sizes[at(dimension)] = length;
  result.spec.strides[at(dimension)] *= step;
  return result;
}

View selected(const View& view, std::int64_t dimension, std::int64_t index) {
  View result = view;
  result.offset += index * view.stride(dimension);
  result.spec.sizes.erase(result.spec.sizes.begin() + dimension);
  result.spec.strides.erase(result.spec.strides.begin() + dimension);
  return result;
}

View unsqueezed(const View& view, std::int64_t dimension) {
  if (dimension < 0 || dimension > view.rank()) no_such_dimension(dimension, view.rank() + 1);
  View result = view;
  result.spec.sizes.insert(result.spec.sizes.begin() + dimension, 1);
  result.spec.strides.insert(result.spec.strides.begin() + dimension, 0);
  return result;
}

View along_channels(const View& view, std::int64_t rank) {
  View result = view;
  if (rank == 0) {  // one channel, of one element
    result.spec.sizes.clear();
    result.spec.strides.clear();
  }
  for (std::int64_t i = 2; i < rank; ++i) result = unsqueezed(result, result.rank());
  return result;
}

std::optional<View> reshaped(const View& view, const Sizes& sizes) {
  if (checked_bytes(DType::kUInt8, sizes) != view.numel()) {
    throw Error(ErrorKind::kInvalidArgument, "sizes " + sizes_text(view.sizes()) +
                                                 " cannot be reshaped to " + sizes_text(sizes));
  }
  std::optional<Sizes> strides = reshaped_strides(view.spec, sizes);
  if (!strides) return std::nullopt;
  View result = view;
  result.spec.sizes = sizes;
  result.spec.strides = std::move(*strides);
  return result;
}

std::int64_t wrapped(std::int64_t dimension, std::int64_t rank) {
  const std::int64_t count = rank == 0 ? 1 : rank;
  const std::int64_t result = dimension < 0 ? dimension + count : dimension;
  if (result < 0 || result >= count) no_such_dimension(dimension, count);
  return result;
}

}  // namespace unfuse::cpu
