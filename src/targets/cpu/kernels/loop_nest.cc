#include "targets/cpu/kernels/loop_nest.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

/// Dims with more than one element, from outermost to innermost.
std::vector<std::size_t> loop_dims(const Sizes& sizes, const std::vector<Sizes>& strides,
                                   LoopOrder order) {
  std::vector<std::size_t> dims;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] != 1) dims.push_back(dim);
  }
  if (order == LoopOrder::kKeep) return dims;
  // By the last operand's strides; where they tie (broadcast dims), by the operand before it.
  std::stable_sort(dims.begin(), dims.end(), [&](std::size_t left, std::size_t right) {
    for (auto operand = strides.rbegin(); operand != strides.rend(); ++operand) {
      const std::int64_t left_stride = std::abs((*operand)[left]);
      const std::int64_t right_stride = std::abs((*operand)[right]);
      if (left_stride != right_stride) return left_stride > right_stride;
    }
    return false;
  });
  return dims;
}

}  // namespace

std::int64_t LoopNest::rows() const {
  return std::accumulate(sizes.begin(), sizes.end() - 1, std::int64_t{1}, std::multiplies<>());
}

std::span<const std::int64_t> LoopNest::outer_sizes() const {
  return std::span(sizes).first(sizes.size() - 1);
}

std::span<const std::int64_t> LoopNest::outer_strides(std::size_t operand) const {
  return std::span(strides[operand]).first(sizes.size() - 1);
}

LoopNest make_loop_nest(const Sizes& sizes, std::vector<Sizes> strides, LoopOrder order) {
  LoopNest nest;
  nest.strides.resize(strides.size());
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  for (const std::size_t dim : loop_dims(sizes, strides, order)) {
    if (is_empty) break;
    bool merges = !nest.sizes.empty();
    for (std::size_t i = 0; merges && i < strides.size(); ++i) {
      merges = nest.strides[i].back() == strides[i][dim] * sizes[dim];
    }
    if (merges) {
      nest.sizes.back() *= sizes[dim];
      for (std::size_t i = 0; i < strides.size(); ++i) nest.strides[i].back() = strides[i][dim];
      continue;
    }
    nest.sizes.push_back(sizes[dim]);
    for (std::size_t i = 0; i < strides.size(); ++i) nest.strides[i].push_back(strides[i][dim]);
  }
  if (nest.sizes.empty()) {
    nest.sizes.push_back(is_empty ? 0 : 1);
    for (Sizes& operand : nest.strides) operand.push_back(1);
  }
  if (nest.sizes.size() > kMaxLoopRank) {
    throw Error(ErrorKind::kUnsupported, "a strided operation over more than 16 dims", "",
                "make the tensors contiguous");
  }
  return nest;
}

RowWalker::RowWalker(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                     std::int64_t row)
    : sizes_(sizes), strides_(strides) {
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    index_[dim] = 0;
    if (sizes[dim] == 0) continue;  // there is no row to walk to
    index_[dim] = row % sizes[dim];
    row /= sizes[dim];
    offset_ += index_[dim] * strides[dim];
  }
}

void RowWalker::next() {
  for (std::size_t dim = sizes_.size(); dim-- > 0;) {
    offset_ += strides_[dim];
    if (++index_[dim] < sizes_[dim]) return;
    offset_ -= strides_[dim] * sizes_[dim];
    index_[dim] = 0;
  }
}

}  // namespace unfuse::cpu
