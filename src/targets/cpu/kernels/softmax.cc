#include "targets/cpu/kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/softmax.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/rows-inl.h"
#include "targets/cpu/kernels/vector_math-inl.h"

#ifndef UNFUSE_SOFTMAX_ROW_FUNCTION
#define UNFUSE_SOFTMAX_ROW_FUNCTION
namespace unfuse::cpu {
using SoftmaxRowFunction = void (*)(const float* from, std::int64_t count, float* to);
}
#endif

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

/// A vector of row, or of what is left of it; the rest -infinity.
template <class D>
HWY_INLINE hn::Vec<D> load_or_lowest(D d, const float* row, std::int64_t i, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(i + lanes <= count)) return hn::LoadU(d, row + i);
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, -std::numeric_limits<float>::infinity()), d, buffer);
  for (std::int64_t j = i; j < count; ++j) buffer[j - i] = row[j];
  return hn::Load(d, buffer);
}

template <class D, class V>
HWY_INLINE void store_some(D d, V value, float* row, std::int64_t i, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(i + lanes <= count)) return hn::StoreU(value, d, row + i);
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, d, buffer);
  for (std::int64_t j = i; j < count; ++j) row[j] = buffer[j - i];
}

/// Sum of exp(from - maximum), in float64 over the vectors. The exponentials go to `to` unless
/// null.
HWY_INLINE double exponentiate(const float* from, std::int64_t count, float maximum, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, maximum);
  double total = 0;
  // float32 sums of some vectors only: the rounding errors of long rows do not add up.
  constexpr std::int64_t kRun = 32;
  for (std::int64_t begin = 0; begin < count; begin += kRun * lanes) {
    const std::int64_t end = std::min(count, begin + kRun * lanes);
    auto sum = hn::Zero(d);
    for (std::int64_t i = begin; i < end; i += lanes) {
      const auto e = vector_exp_nonpositive(d, hn::Sub(load_or_lowest(d, from, i, count), shift));
      if (to != nullptr) store_some(d, e, to, i, count);
      sum = hn::Add(sum, e);
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

void softmax_row(const float* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float maximum = max_row(from, count);
  const auto sum = hn::Set(d, static_cast<float>(exponentiate(from, count, maximum, to)));
  for (std::int64_t i = 0; i < count; i += lanes) {
    store_some(d, hn::Div(load_or_lowest(d, to, i, count), sum), to, i, count);
  }
}

void safe_softmax_row(const float* from, std::int64_t count, float* to) {
  const auto is_lowest = [](float x) { return std::isinf(x) && x < 0; };
  if (is_lowest(max_row(from, count)) && std::all_of(from, from + count, is_lowest)) {
    std::fill(to, to + count, 0.0f);
    return;
  }
  softmax_row(from, count, to);
}

void log_softmax_row(const float* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float maximum = max_row(from, count);
  const auto shift = hn::Set(d, maximum);
  const auto log_sum =
      hn::Set(d, static_cast<float>(std::log(exponentiate(from, count, maximum, nullptr))));
  for (std::int64_t i = 0; i < count; i += lanes) {
    const auto value = hn::Sub(load_or_lowest(d, from, i, count), shift);
    store_some(d, hn::Sub(value, log_sum), to, i, count);
  }
}

SoftmaxRowFunction softmax_row_function(SoftmaxKind kind) {
  switch (kind) {
    case SoftmaxKind::kSoftmax:
      return softmax_row;
    case SoftmaxKind::kLogSoftmax:
      return log_softmax_row;
    case SoftmaxKind::kSafeSoftmax:
      return safe_softmax_row;
  }
  return nullptr;
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(softmax_row_function);

namespace {

constexpr const char* kName = "softmax";
constexpr std::int64_t kGrain = 4096;

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(const SoftmaxSpec& spec, std::size_t dim)
      : row_size_(spec.input.sizes[dim]),
        from_stride_(spec.input.strides[dim]),
        to_stride_(spec.output.strides[dim]),
        threads_(std::max(1, spec.threads)),
        function_(HWY_DYNAMIC_DISPATCH(softmax_row_function)(spec.kind)) {
    const auto without = [&](Sizes values) {
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(dim));
      return values;
    };
    nest_ = make_loop_nest(without(spec.input.sizes),
                           {without(spec.input.strides), without(spec.output.strides)},
                           LoopOrder::kReorder);
    is_contiguous_ = row_size_ == 1 || (from_stride_ == 1 && to_stride_ == 1);
  }

  std::size_t scratch_bytes() const override {
    return is_contiguous_ ? 0 : static_cast<std::size_t>(threads_) * row_bytes();
  }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const auto* input = static_cast<const float*>(operands[0]);
    auto* output = static_cast<float*>(operands[1]);
    if (row_size_ == 0 || nest_.inner_size() == 0) return;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / row_size_);
    const std::int64_t rows = nest_.rows() * nest_.inner_size();
    parallel_for(threads_, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      auto* row_copy = reinterpret_cast<float*>(scratch + static_cast<std::size_t>(thread_index()) *
                                                              row_bytes());
      RowWalker from(nest_.sizes, nest_.strides[0], begin);
      RowWalker to(nest_.sizes, nest_.strides[1], begin);
      for (std::int64_t row = begin; row < end; ++row, from.next(), to.next()) {
        run_row(input + from.offset(), output + to.offset(), row_copy);
      }
    });
  }

 private:
  std::size_t row_bytes() const {
    return (static_cast<std::size_t>(row_size_) * sizeof(float) + 63) / 64 * 64;
  }

  void run_row(const float* from, float* to, float* row_copy) const {
    if (is_contiguous_) return function_(from, row_size_, to);
    for (std::int64_t i = 0; i < row_size_; ++i) row_copy[i] = from[i * from_stride_];
    function_(row_copy, row_size_, row_copy);
    for (std::int64_t i = 0; i < row_size_; ++i) to[i * to_stride_] = row_copy[i];
  }

  std::int64_t row_size_, from_stride_, to_stride_;
  int threads_;
  SoftmaxRowFunction function_;
  LoopNest nest_;
  bool is_contiguous_;
};

}  // namespace

KernelPtr select_softmax(const SoftmaxSpec& spec) {
  require(spec.input.dtype == DType::kFloat32 && spec.output.dtype == DType::kFloat32, kName,
          "an operand that is not float32");
  require(spec.input.sizes == spec.output.sizes, kName, "input and output differ in sizes");
  if (spec.input.rank() == 0) {  // one row of one element
    SoftmaxSpec row;
    row.kind = spec.kind;
    row.input = row.output = OperandSpec::contiguous(DType::kFloat32, {1});
    row.threads = spec.threads;
    return std::make_unique<SoftmaxKernel>(row, 0);
  }
  const std::int64_t dim = spec.dim < 0 ? spec.dim + spec.input.rank() : spec.dim;
  require(dim >= 0 && dim < spec.input.rank(), kName, "a dim that the input does not have");
  return std::make_unique<SoftmaxKernel>(spec, static_cast<std::size_t>(dim));
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
