#include "targets/cpu/kernels/resample.h"

#include <algorithm>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "resample";
constexpr std::int64_t kGrain = 8192;

std::int64_t count_of(const Taps& taps) { return static_cast<std::int64_t>(taps.first.size()) - 1; }

/// The one sum of the one row that a signal is.
Taps identity() { return {{0, 1}, {0}, {1.0F}}; }

/// Rows of the input that some sum reaches over, at most.
std::int64_t widest_window(const Taps& taps) {
  std::int64_t widest = 1;
  for (std::size_t i = 0; i + 1 < taps.first.size(); ++i) {
    const auto begin = static_cast<std::size_t>(taps.first[i]);
    const auto last = static_cast<std::size_t>(taps.first[i + 1] - 1);
    widest = std::max(widest, taps.index[last] - taps.index[begin] + 1);
  }
  return widest;
}

/// Rows are resampled along their own dim first and then summed. Output rows that follow one
/// another share most of the rows they sum, so those are held, each in the slot that its number
/// gives it.
class ResampleKernel final : public Kernel {
 public:
  ResampleKernel(const ResampleSpec& spec, std::int64_t spatial)
      : threads_(spec.threads),
        rows_(spatial == 2 ? spec.taps[0] : identity()),
        columns_(spec.taps.back()),
        slots_(widest_window(rows_)),
        row_stride_(spatial == 2 ? spec.input.strides.end()[-2] : 0),
        column_stride_(spec.input.strides.back()),
        output_row_stride_(spatial == 2 ? spec.output.strides.end()[-2] : 0),
        output_column_stride_(spec.output.strides.back()) {
    const auto leading = [spatial](const Sizes& values) {
      return Sizes(values.begin(), values.end() - spatial);
    };
    planes_ = make_loop_nest(leading(spec.input.sizes),
                             {leading(spec.input.strides), leading(spec.output.strides)},
                             LoopOrder::kReorder);
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * thread_bytes();
  }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const std::int64_t rows = planes_.rows() * planes_.inner_size() * count_of(rows_);
    const std::int64_t columns = count_of(columns_);
    if (rows == 0 || columns == 0) return;
    const auto* input = static_cast<const float*>(operands[0]);
    auto* output = static_cast<float*>(operands[1]);
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / columns);
    parallel_for(threads_, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      run_rows(input, output, begin, end,
               Held(*this, scratch + static_cast<std::size_t>(thread_index()) * thread_bytes()));
    });
  }

 private:
  /// The rows of one plane that were resampled last.
  struct Held {
    std::int64_t* numbers;  ///< by slot, -1 where there is none yet
    float* rows;
    float* sum;

    Held(const ResampleKernel& kernel, std::byte* memory)
        : numbers(reinterpret_cast<std::int64_t*>(memory)),
          rows(reinterpret_cast<float*>(numbers + kernel.slots_)),
          sum(rows + kernel.slots_ * count_of(kernel.columns_)) {}
  };

  /// Numbers, rows and a sum, in whole cache lines.
  std::size_t thread_bytes() const {
    const std::int64_t bytes = slots_ * 8 + (slots_ + 1) * count_of(columns_) * 4;
    return static_cast<std::size_t>((bytes + 63) / 64 * 64);
  }

  void run_rows(const float* input, float* output, std::int64_t begin, std::int64_t end,
                const Held& held) const {
    const std::int64_t height = count_of(rows_);
    RowWalker from(planes_.sizes, planes_.strides[0], begin / height);
    RowWalker to(planes_.sizes, planes_.strides[1], begin / height);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i % height;
      if (i > begin && row == 0) {
        from.next();
        to.next();
      }
      if (i == begin || row == 0) std::fill_n(held.numbers, slots_, -1);
      run_row(input + from.offset(), output + to.offset() + row * output_row_stride_, row, held);
    }
  }

  void run_row(const float* plane, float* output, std::int64_t row, const Held& held) const {
    const std::int64_t columns = count_of(columns_);
    float* sum = output_column_stride_ == 1 ? output : held.sum;
    const std::int64_t first = rows_.first[static_cast<std::size_t>(row)];
    const std::int64_t end = rows_.first[static_cast<std::size_t>(row) + 1];
    for (std::int64_t t = first; t < end; ++t) {
      const float* resampled = resampled_row(plane, rows_.index[static_cast<std::size_t>(t)], held);
      const float weight = rows_.weight[static_cast<std::size_t>(t)];
      if (t == first) {
        for (std::int64_t x = 0; x < columns; ++x) sum[x] = weight * resampled[x];
      } else {
        for (std::int64_t x = 0; x < columns; ++x) sum[x] += weight * resampled[x];
      }
    }
    if (sum == output) return;
    for (std::int64_t x = 0; x < columns; ++x) output[x * output_column_stride_] = sum[x];
  }

  const float* resampled_row(const float* plane, std::int64_t row, const Held& held) const {
    const std::int64_t slot = row % slots_;
    float* resampled = held.rows + slot * count_of(columns_);
    if (held.numbers[slot] == row) return resampled;
    held.numbers[slot] = row;
    const float* from = plane + row * row_stride_;
    for (std::size_t x = 0; x + 1 < columns_.first.size(); ++x) {
      auto t = static_cast<std::size_t>(columns_.first[x]);
      const auto end = static_cast<std::size_t>(columns_.first[x + 1]);
      float sum = columns_.weight[t] * from[columns_.index[t] * column_stride_];
      while (++t < end) sum += columns_.weight[t] * from[columns_.index[t] * column_stride_];
      resampled[x] = sum;
    }
    return resampled;
  }

  int threads_;
  Taps rows_, columns_;
  std::int64_t slots_;
  std::int64_t row_stride_, column_stride_, output_row_stride_, output_column_stride_;
  LoopNest planes_;
};

}  // namespace

KernelPtr select_resample(const ResampleSpec& spec) {
  const auto spatial = static_cast<std::int64_t>(spec.taps.size());
  require(spec.input.dtype == DType::kFloat32 && spec.output.dtype == DType::kFloat32, kName,
          "an operand that is not float32");
  require(spatial >= 1 && spatial <= 2 && spatial <= spec.input.rank() &&
              spec.input.rank() == spec.output.rank(),
          kName, "ranks do not fit");
  for (std::size_t i = 0; i < spec.taps.size(); ++i) {
    const std::size_t dim = spec.output.sizes.size() - spec.taps.size() + i;
    require(count_of(spec.taps[i]) == spec.output.sizes[dim], kName, "taps do not fit");
  }
  return std::make_unique<ResampleKernel>(spec, spatial);
}

}  // namespace unfuse::cpu
