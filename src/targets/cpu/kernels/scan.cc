#include "targets/cpu/kernels/scan.h"

#include <algorithm>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/reduce_accumulators.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "scan";
constexpr std::int64_t kChunk = 256;
constexpr std::int64_t kGrain = 8192;

template <typename T>
class ScanKernel final : public Kernel {
 public:
  ScanKernel(const ScanSpec& spec, std::size_t dim)
      : op_(spec.op),
        threads_(spec.threads),
        size_(spec.input.sizes[dim]),
        from_stride_(spec.input.strides[dim]),
        to_stride_(spec.output.strides[dim]),
        from_bytes_(static_cast<std::int64_t>(dtype_size(spec.input.dtype))),
        to_bytes_(static_cast<std::int64_t>(dtype_size(spec.output.dtype))) {
    const RegisterType type =
        std::is_same_v<T, double> ? RegisterType::kFloat64 : RegisterType::kInt64;
    load_ = load_function(spec.input.dtype, type);
    store_ = store_function(type, spec.output.dtype);
    require(load_ != nullptr && store_ != nullptr, kName, "a dtype that it does not take");
    const auto without = [&](Sizes values) {
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(dim));
      return values;
    };
    nest_ = make_loop_nest(without(spec.input.sizes),
                           {without(spec.input.strides), without(spec.output.strides)},
                           LoopOrder::kReorder);
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    if (size_ == 0 || nest_.inner_size() == 0) return;
    const auto* input = static_cast<const std::byte*>(operands[0]);
    auto* output = static_cast<std::byte*>(operands[1]);
    const std::int64_t lines = nest_.rows() * nest_.inner_size();
    parallel_for(threads_, lines, std::max<std::int64_t>(1, kGrain / size_),
                 [&](std::int64_t begin, std::int64_t end) {
                   RowWalker from(nest_.sizes, nest_.strides[0], begin);
                   RowWalker to(nest_.sizes, nest_.strides[1], begin);
                   for (std::int64_t i = begin; i < end; ++i, from.next(), to.next()) {
                     scan_line(input + from.offset() * from_bytes_,
                               output + to.offset() * to_bytes_);
                   }
                 });
  }

 private:
  void scan_line(const std::byte* from, std::byte* to) const {
    T chunk[kChunk];
    T running = op_ == ScanOp::kSum ? 0 : 1;
    for (std::int64_t i = 0; i < size_; i += kChunk) {
      const std::int64_t count = std::min(kChunk, size_ - i);
      load_(from + i * from_stride_ * from_bytes_, from_stride_, count, chunk);
      for (std::int64_t j = 0; j < count; ++j) {
        running = op_ == ScanOp::kSum ? wrapping_add(running, chunk[j])
                                      : wrapping_multiply(running, chunk[j]);
        chunk[j] = running;
      }
      store_(chunk, to_stride_, count, to + i * to_stride_ * to_bytes_);
    }
  }

  ScanOp op_;
  int threads_;
  std::int64_t size_, from_stride_, to_stride_, from_bytes_, to_bytes_;
  LoadFunction load_;
  StoreFunction store_;
  LoopNest nest_;
};

}  // namespace

KernelPtr select_scan(const ScanSpec& spec) {
  require(spec.input.sizes == spec.output.sizes, kName, "input and output differ in sizes");
  ScanSpec line = spec;
  if (spec.input.rank() == 0) {  // a line of one element
    line.input.sizes = line.input.strides = line.output.sizes = line.output.strides = {1};
    line.dim = 0;
  }
  require(line.dim >= 0 && line.dim < line.input.rank(), kName,
          "a dim that the input does not have");
  const auto dim = static_cast<std::size_t>(line.dim);
  if (is_floating_point(spec.input.dtype) || is_floating_point(spec.output.dtype)) {
    return std::make_unique<ScanKernel<double>>(line, dim);
  }
  return std::make_unique<ScanKernel<std::int64_t>>(line, dim);
}

}  // namespace unfuse::cpu
