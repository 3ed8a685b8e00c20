#include "targets/cpu/kernels/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/layer_norm.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/rows-inl.h"

#ifndef UNFUSE_NORM_ROW_FUNCTION
#define UNFUSE_NORM_ROW_FUNCTION
namespace unfuse::cpu {
using NormRowFunction = void (*)(const float* from, std::int64_t count, double eps,
                                 const float* weight, const float* bias, float* to);
}
#endif

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

/// to = (from - mean) * factor * weight + bias, where the mean is mean_high + mean_low. Null weight
/// and bias are left out.
void scale_row(const float* from, std::int64_t count, float mean_high, float mean_low, float factor,
               const float* weight, const float* bias, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto high = hn::Set(d, mean_high);
  const auto low = hn::Set(d, mean_low);
  const auto scale = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto value = hn::Sub(hn::Sub(hn::LoadU(d, from + i), high), low);
    value = hn::Mul(value, scale);
    if (weight != nullptr && bias != nullptr) {
      value = hn::MulAdd(value, hn::LoadU(d, weight + i), hn::LoadU(d, bias + i));
    } else if (weight != nullptr) {
      value = hn::Mul(value, hn::LoadU(d, weight + i));
    } else if (bias != nullptr) {
      value = hn::Add(value, hn::LoadU(d, bias + i));
    }
    hn::StoreU(value, d, to + i);
  }
  for (; i < count; ++i) {
    const float value = (from[i] - mean_high - mean_low) * factor;
    to[i] = value * (weight != nullptr ? weight[i] : 1.0f) + (bias != nullptr ? bias[i] : 0.0f);
  }
}

void layer_norm_row(const float* from, std::int64_t count, double eps, const float* weight,
                    const float* bias, float* to) {
  const auto size = static_cast<double>(count);
  const double sum = sum_row(
      from, count, [](auto, auto x) HWY_ATTR { return x; }, [](double x) { return x; });
  const double mean = sum / size;
  const double squares = sum_row(
      from, count,
      [mean](auto d, auto x) HWY_ATTR {
        const auto centered = hn::Sub(x, hn::Set(d, mean));
        return hn::Mul(centered, centered);
      },
      [mean](double x) { return (x - mean) * (x - mean); });
  const auto factor = static_cast<float>(1 / std::sqrt(squares / size + eps));
  const auto mean_high = static_cast<float>(mean);
  const auto mean_low = static_cast<float>(mean - static_cast<double>(mean_high));
  // Infinities would make the low part NaN where the high one says it all.
  scale_row(from, count, mean_high, std::isfinite(mean_high) ? mean_low : 0.0f, factor, weight,
            bias, to);
}

void rms_norm_row(const float* from, std::int64_t count, double eps, const float* weight,
                  const float* bias, float* to) {
  const double squares = sum_row(
      from, count, [](auto, auto x) HWY_ATTR { return hn::Mul(x, x); },
      [](double x) { return x * x; });
  const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + eps));
  scale_row(from, count, 0.0f, 0.0f, factor, weight, bias, to);
}

NormRowFunction norm_row_function(NormKind kind) {
  return kind == NormKind::kLayerNorm ? layer_norm_row : rms_norm_row;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(norm_row_function);

namespace {

constexpr const char* kName = "norm";
/// Elements that a thread should have at least.
constexpr std::int64_t kGrain = 8192;

class NormKernel final : public Kernel {
 public:
  explicit NormKernel(const NormSpec& spec)
      : eps_(spec.eps),
        has_weight_(spec.has_weight),
        has_bias_(spec.has_bias),
        threads_(spec.threads) {
    const auto leading = spec.input.sizes.size() - static_cast<std::size_t>(spec.normalized_rank);
    const auto first = [&](const Sizes& values) {
      return Sizes(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(leading));
    };
    for (std::size_t dim = leading; dim < spec.input.sizes.size(); ++dim) {
      row_size_ *= spec.input.sizes[dim];
    }
    nest_ = make_loop_nest(first(spec.input.sizes),
                           {first(spec.input.strides), first(spec.output.strides)},
                           LoopOrder::kReorder);
    function_ = HWY_DYNAMIC_DISPATCH(norm_row_function)(spec.kind);
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    const auto* input = static_cast<const float*>(operands[0]);
    const auto* weight = has_weight_ ? static_cast<const float*>(operands[1]) : nullptr;
    const auto* bias =
        has_bias_ ? static_cast<const float*>(operands[operands.size() - 2]) : nullptr;
    auto* output = static_cast<float*>(operands.back());
    if (row_size_ == 0 || nest_.inner_size() == 0) return;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / row_size_);
    const std::int64_t rows = nest_.rows() * nest_.inner_size();
    parallel_for(threads_, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      RowWalker from(nest_.sizes, nest_.strides[0], begin);
      RowWalker to(nest_.sizes, nest_.strides[1], begin);
      for (std::int64_t row = begin; row < end; ++row, from.next(), to.next()) {
        function_(input + from.offset(), row_size_, eps_, weight, bias, output + to.offset());
      }
    });
  }

 private:
  LoopNest nest_;
  std::int64_t row_size_ = 1;
  double eps_;
  bool has_weight_, has_bias_;
  int threads_;
  NormRowFunction function_;
};

}  // namespace

KernelPtr select_norm(const NormSpec& spec) {
  require(spec.input.dtype == DType::kFloat32 && spec.output.dtype == DType::kFloat32, kName,
          "an operand that is not float32");
  require(spec.input.sizes == spec.output.sizes, kName, "input and output differ in sizes");
  require(spec.normalized_rank >= 1 && spec.normalized_rank <= spec.input.rank(), kName,
          "more normalized dims than there are");
  require(trailing_dims_contiguous(spec.input, spec.normalized_rank) &&
              trailing_dims_contiguous(spec.output, spec.normalized_rank),
          kName, "normalized dims that are not contiguous");
  require(!(spec.has_bias && spec.kind == NormKind::kRmsNorm), kName, "RMS norm with a bias");
  return std::make_unique<NormKernel>(spec);
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
