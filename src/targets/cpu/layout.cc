#include "targets/cpu/layout.h"

#include <algorithm>
#include <numeric>

#include "unfuse/error.h"
#include "unfuse/tensor.h"

namespace unfuse::cpu {

std::string sizes_text(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + "]";
}

bool is_dense(const OperandSpec& spec) {
  if (spec.numel() == 0) return true;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
    if (spec.sizes[i] != 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return spec.strides[a] < spec.strides[b]; });
  std::int64_t expected = 1;
  for (std::size_t dimension : order) {
    if (spec.strides[dimension] != expected) return false;
    expected *= spec.sizes[dimension];
  }
  return true;
}

OperandSpec dense_or_contiguous(DType dtype, const Sizes& sizes,
                                const std::optional<std::vector<std::int64_t>>& strides) {
  checked_bytes(dtype, sizes);
  if (strides && strides->size() == sizes.size()) {
    OperandSpec spec{dtype, sizes, *strides};
    if (spec.numel() != 0 && is_dense(spec)) return spec;
  }
  return OperandSpec::contiguous(dtype, sizes);
}

std::int64_t checked_bytes(DType dtype, const Sizes& sizes) {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const std::int64_t size : sizes) {
    if (size == 0) return 0;
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      throw Error(ErrorKind::kInvalidArgument, "a tensor of sizes " + sizes_text(sizes) +
                                                   " has more elements than can be counted");
    }
  }
  return bytes;
}

std::int64_t extent_bytes(const OperandSpec& spec) {
  if (spec.numel() == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < spec.sizes.size(); ++i) last += (spec.sizes[i] - 1) * spec.strides[i];
  return (last + 1) * static_cast<std::int64_t>(dtype_size(spec.dtype));
}

bool same_layout(const OperandSpec& left, const OperandSpec& right) {
  return left.dtype == right.dtype && left.sizes == right.sizes &&
         canonical_strides(left.sizes, left.strides) ==
             canonical_strides(right.sizes, right.strides);
}

Sizes canonical_strides(const Sizes& sizes, const Sizes& strides) {
  Sizes canonical = strides;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1) continue;
    canonical[i] =
        i + 1 == sizes.size() ? 1 : canonical[i + 1] * std::max<std::int64_t>(sizes[i + 1], 1);
  }
  return canonical;
}

std::optional<Sizes> reshaped_strides(const OperandSpec& spec, const Sizes& sizes) {
  if (spec.numel() == 0) return contiguous_strides(sizes);
  // Dims that can be walked with one stride, innermost last.
  struct Run {
    std::int64_t size = 1;
    std::int64_t stride = 1;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
    if (spec.sizes[i] == 1) continue;
    if (!runs.empty() && runs.back().stride == spec.strides[i] * spec.sizes[i]) {
      runs.back() = {runs.back().size * spec.sizes[i], spec.strides[i]};
    } else {
      runs.push_back({spec.sizes[i], spec.strides[i]});
    }
  }
  Sizes strides(sizes.size(), 1);
  std::size_t run = runs.size();  // the one at hand is run - 1
  std::int64_t left = 1;          // of its size
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) {
      strides[i] = stride;
      continue;
    }
    if (left == 1) {
      if (run == 0) return std::nullopt;
      --run;
      left = runs[run].size;
      stride = runs[run].stride;
    }
    if (left % sizes[i] != 0) return std::nullopt;
    strides[i] = stride;
    stride *= sizes[i];
    left /= sizes[i];
  }
  return strides;
}

}  // namespace unfuse::cpu
