#include "targets/cpu/kernels/pool.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "pool";
constexpr std::int64_t kGrain = 4096;

/// Always three spatial dims, those in front of size 1 if there are fewer.
using Three = std::array<std::int64_t, 3>;

Three three(const Sizes& values, std::int64_t filler) {
  Three padded = {filler, filler, filler};
  std::copy(values.rbegin(), values.rend(), padded.rbegin());
  return padded;
}

/// Elements of one dim that a window covers: begin, begin + step, ... below end.
struct Window {
  std::int64_t begin, end, step;
  std::int64_t padded_size;  ///< elements, padding included but not what lies beyond it
  std::int64_t count() const { return begin >= end ? 0 : (end - begin + step - 1) / step; }
};

class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(const PoolSpec& spec) : spec_(spec) {
    const std::int64_t rank = spatial_rank(spec);
    const auto leading = spec.input.sizes.size() - static_cast<std::size_t>(rank);
    const auto front = [&](const Sizes& values) {
      return Sizes(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(leading));
    };
    const auto back = [&](const Sizes& values) {
      return Sizes(values.begin() + static_cast<std::ptrdiff_t>(leading), values.end());
    };
    input_sizes_ = three(back(spec.input.sizes), 1);
    input_strides_ = three(back(spec.input.strides), 0);
    output_sizes_ = three(back(spec.output.sizes), 1);
    output_strides_ = three(back(spec.output.strides), 0);
    kernel_ = three(spec.kernel, 1);
    stride_ = three(spec.stride, 1);
    padding_ = three(spec.padding, 0);
    dilation_ = three(spec.dilation, 1);
    std::vector<Sizes> strides = {front(spec.input.strides), front(spec.output.strides)};
    if (spec.indices) {
      strides.push_back(front(spec.indices->strides));
      index_strides_ = three(back(spec.indices->strides), 0);
    }
    planes_ = make_loop_nest(front(spec.input.sizes), std::move(strides), LoopOrder::kReorder);
  }

  static std::int64_t spatial_rank(const PoolSpec& spec) {
    return is_adaptive(spec.kind) ? spec.spatial_rank
                                  : static_cast<std::int64_t>(spec.kernel.size());
  }
  static bool is_adaptive(PoolKind kind) {
    return kind == PoolKind::kAdaptiveAverage || kind == PoolKind::kAdaptiveMax;
  }
  static bool is_max(PoolKind kind) {
    return kind == PoolKind::kMax || kind == PoolKind::kAdaptiveMax;
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    const std::int64_t outputs = output_sizes_[0] * output_sizes_[1] * output_sizes_[2];
    const std::int64_t planes = planes_.rows() * planes_.inner_size();
    if (outputs == 0 || planes == 0) return;
    parallel_for(spec_.threads, planes, std::max<std::int64_t>(1, kGrain / outputs),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t plane = begin; plane < end; ++plane) {
                     run_plane(operands, plane);
                   }
                 });
  }

 private:
  std::int64_t plane_offset(std::size_t operand, std::int64_t plane) const {
    return RowWalker(planes_.sizes, planes_.strides[operand], plane).offset();
  }

  Window window(std::size_t dim, std::int64_t output) const {
    const std::int64_t size = input_sizes_[dim];
    if (is_adaptive(spec_.kind)) {
      const std::int64_t count = output_sizes_[dim];
      const std::int64_t begin = output * size / count;
      const std::int64_t end = ((output + 1) * size + count - 1) / count;
      return {begin, end, 1, end - begin};
    }
    const std::int64_t step = dilation_[dim];
    std::int64_t begin = output * stride_[dim] - padding_[dim];
    const std::int64_t end = begin + (kernel_[dim] - 1) * step + 1;
    const std::int64_t padded_size = std::min(end, size + padding_[dim]) - begin;
    if (begin < 0) begin += (-begin + step - 1) / step * step;
    return {begin, std::min(end, size), step, padded_size};
  }

  void run_plane(std::span<void* const> operands, std::int64_t plane) const {
    const auto* input = static_cast<const float*>(operands[0]) + plane_offset(0, plane);
    auto* output = static_cast<float*>(operands[1]) + plane_offset(1, plane);
    auto* indices =
        spec_.indices ? static_cast<std::int64_t*>(operands[2]) + plane_offset(2, plane) : nullptr;
    for (std::int64_t i = 0; i < output_sizes_[0]; ++i) {
      for (std::int64_t j = 0; j < output_sizes_[1]; ++j) {
        for (std::int64_t k = 0; k < output_sizes_[2]; ++k) {
          const std::array<Window, 3> windows = {window(0, i), window(1, j), window(2, k)};
          float& to =
              output[i * output_strides_[0] + j * output_strides_[1] + k * output_strides_[2]];
          if (!is_max(spec_.kind)) {
            to = average(input, windows);
            continue;
          }
          std::int64_t position = 0;
          to = maximum(input, windows, position);
          if (indices == nullptr) continue;
          indices[i * index_strides_[0] + j * index_strides_[1] + k * index_strides_[2]] = position;
        }
      }
    }
  }

  /// Calls visit(value, position in the spatial dims) for each element of the windows.
  template <typename Visit>
  void visit_window(const float* input, const std::array<Window, 3>& windows,
                    const Visit& visit) const {
    for (std::int64_t i = windows[0].begin; i < windows[0].end; i += windows[0].step) {
      for (std::int64_t j = windows[1].begin; j < windows[1].end; j += windows[1].step) {
        const float* row = input + i * input_strides_[0] + j * input_strides_[1];
        const std::int64_t position = (i * input_sizes_[1] + j) * input_sizes_[2];
        for (std::int64_t k = windows[2].begin; k < windows[2].end; k += windows[2].step) {
          visit(row[k * input_strides_[2]], position + k);
        }
      }
    }
  }

  float maximum(const float* input, const std::array<Window, 3>& windows,
                std::int64_t& position) const {
    float largest = -std::numeric_limits<float>::infinity();
    position = (windows[0].begin * input_sizes_[1] + windows[1].begin) * input_sizes_[2] +
               windows[2].begin;
    visit_window(input, windows, [&](float value, std::int64_t at) {
      if (!(value > largest) && !std::isnan(value)) return;
      largest = value;
      position = at;
    });
    return largest;
  }

  float average(const float* input, const std::array<Window, 3>& windows) const {
    double sum = 0;
    visit_window(input, windows,
                 [&](float value, std::int64_t) { sum += static_cast<double>(value); });
    std::int64_t divisor = 1;
    for (const Window& window : windows) {
      divisor *= spec_.count_include_pad ? window.padded_size : window.count();
    }
    if (is_adaptive(spec_.kind)) {
      divisor = windows[0].count() * windows[1].count() * windows[2].count();
    } else if (spec_.divisor_override) {
      divisor = *spec_.divisor_override;
    }
    return static_cast<float>(sum / static_cast<double>(divisor));
  }

  PoolSpec spec_;
  Three input_sizes_, input_strides_, output_sizes_, output_strides_;
  Three index_strides_ = {};
  Three kernel_, stride_, padding_, dilation_;
  LoopNest planes_;
};

}  // namespace

KernelPtr select_pool(const PoolSpec& spec) {
  require(spec.input.dtype == DType::kFloat32 && spec.output.dtype == DType::kFloat32, kName,
          "an operand that is not float32");
  const std::int64_t rank = PoolKernel::spatial_rank(spec);
  require(rank >= 1 && rank <= 3 && rank <= spec.input.rank() &&
              spec.input.rank() == spec.output.rank(),
          kName, "ranks do not fit");
  if (!PoolKernel::is_adaptive(spec.kind)) {
    const std::size_t dims = spec.kernel.size();
    require(spec.stride.size() == dims && spec.padding.size() == dims &&
                (spec.dilation.empty() || spec.dilation.size() == dims),
            kName, "window parameters do not fit");
    require(spec.kind == PoolKind::kMax || spec.dilation.empty(), kName, "a dilated average");
  }
  require(!spec.indices || (PoolKernel::is_max(spec.kind) && spec.indices->dtype == DType::kInt64 &&
                            spec.indices->sizes == spec.output.sizes),
          kName, "indices do not fit");
  return std::make_unique<PoolKernel>(spec);
}

}  // namespace unfuse::cpu
