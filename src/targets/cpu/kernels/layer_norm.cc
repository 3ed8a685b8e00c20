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
using AddRowFunction = void (*)(const float* left, const float* right, std::int64_t count,
                                float* to);
}  // namespace unfuse::cpu
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

void add_row(const float* left, const float* right, std::int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, to + i);
  }
  for (; i < count; ++i) to[i] = left[i] + right[i];
}

AddRowFunction add_row_function() { return add_row; }

NormRowFunction norm_row_function(NormKind kind) {
  return kind == NormKind::kLayerNorm ? layer_norm_row : rms_norm_row;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(norm_row_function);
HWY_EXPORT(add_row_function);

namespace {

constexpr const char* kName = "norm";
/// Elements that a thread should have at least.
constexpr std::int64_t kGrain = 8192;

class NormKernel final : public Kernel {
 public:
  explicit NormKernel(const NormSpec& spec)
      : eps_(spec.eps),
        has_residual_(spec.residual.has_value()),
        has_sum_(spec.sum.has_value()),
        has_weight_(spec.has_weight),
        has_bias_(spec.has_bias),
        counted_rows_(spec.counted_rows),
        threads_(spec.threads) {
    const auto leading = spec.input.sizes.size() - static_cast<std::size_t>(spec.normalized_rank);
    const auto first = [&](const Sizes& values) {
      return Sizes(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(leading));
    };
    for (std::size_t dim = leading; dim < spec.input.sizes.size(); ++dim) {
      row_size_ *= spec.input.sizes[dim];
    }
    const OperandSpec& residual = spec.residual ? *spec.residual : spec.input;
    const OperandSpec& sum = spec.sum ? *spec.sum : spec.output;
    nest_ = make_loop_nest(first(spec.input.sizes),
                           {first(spec.input.strides), first(residual.strides), first(sum.strides),
                            first(spec.output.strides)},
                           spec.counted_rows ? LoopOrder::kKeep : LoopOrder::kReorder);
    function_ = HWY_DYNAMIC_DISPATCH(norm_row_function)(spec.kind);
    add_ = HWY_DYNAMIC_DISPATCH(add_row_function)();
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    if (row_size_ == 0 || nest_.inner_size() == 0) return;
    std::size_t next = 0;
    const auto take = [&](bool is_there) {
      return is_there ? static_cast<float*>(operands[next++]) : nullptr;
    };
    const void* row_count = take(counted_rows_.has_value());
    const float* input = take(true);
    const float* residual = take(has_residual_);
    const float* weight = take(has_weight_);
    const float* bias = take(has_bias_);
    float* sum = take(has_sum_);
    float* output = take(true);
    if (sum == nullptr) sum = output;  // a row of sums is normalized where it is
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / row_size_);
    std::int64_t rows = nest_.rows() * nest_.inner_size();
    if (counted_rows_) rows = counted_part(rows, *counted_rows_, row_count);
    parallel_for(threads_, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      const auto walk = [&](std::size_t operand) {
        return RowWalker(nest_.sizes, nest_.strides[operand], begin);
      };
      RowWalker from = walk(0), other = walk(1), between = walk(2), to = walk(3);
      for (std::int64_t row = begin; row < end; ++row) {
        const float* normalized = input + from.offset();
        if (residual != nullptr) {
          add_(normalized, residual + other.offset(), row_size_, sum + between.offset());
          normalized = sum + between.offset();
        }
        function_(normalized, row_size_, eps_, weight, bias, output + to.offset());
        for (RowWalker* walker : {&from, &other, &between, &to}) walker->next();
      }
    });
  }

 private:
  LoopNest nest_;
  std::int64_t row_size_ = 1;
  double eps_;
  bool has_residual_, has_sum_, has_weight_, has_bias_;
  std::optional<std::int64_t> counted_rows_;
  int threads_;
  NormRowFunction function_;
  AddRowFunction add_;
};

}  // namespace

KernelPtr select_norm(const NormSpec& spec) {
  require(spec.normalized_rank >= 1 && spec.normalized_rank <= spec.input.rank(), kName,
          "more normalized dims than there are");
  require(spec.residual.has_value() || !spec.sum.has_value(), kName, "a sum without a residual");
  const auto check = [&](const OperandSpec& operand) {
    require(operand.dtype == DType::kFloat32, kName, "an operand that is not float32");
    require(operand.sizes == spec.input.sizes, kName, "operands that differ in sizes");
    require(trailing_dims_contiguous(operand, spec.normalized_rank), kName,
            "normalized dims that are not contiguous");
  };
  check(spec.input);
  check(spec.output);
  if (spec.residual) check(*spec.residual);
  if (spec.sum) check(*spec.sum);
  require(!(spec.has_bias && spec.kind == NormKind::kRmsNorm), kName, "RMS norm with a bias");
  return std::make_unique<NormKernel>(spec);
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
