#include "targets/cpu/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/reduce_accumulators.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "reduce";
/// Elements loaded at a time.
constexpr std::int64_t kChunk = 256;
/// Neighbouring results that are computed side by side.
constexpr std::int64_t kColumns = 64;
/// Accumulators of one row, so that an addition need not wait for the one before.
constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kGrain = 16384;

template <typename T>
constexpr RegisterType kRegister =
    std::is_same_v<T, double> ? RegisterType::kFloat64 : RegisterType::kInt64;

bool has_position(ReduceOp op) {
  return op == ReduceOp::kArgmax || op == ReduceOp::kArgmin || op == ReduceOp::kMaxWithIndex ||
         op == ReduceOp::kMinWithIndex;
}

/// The loops of a reduction: over what is kept (input, output, indices) and what is reduced
/// (input).
struct Loops {
  LoopNest kept;
  LoopNest reduced;
  std::int64_t count = 1;  // elements that go into one result
};

Loops make_loops(const ReduceSpec& spec) {
  Sizes kept_sizes;
  Sizes reduced_sizes;
  std::vector<Sizes> kept_strides(spec.indices ? 3 : 2);
  Sizes reduced_strides;
  for (std::size_t dim = 0; dim < spec.input.sizes.size(); ++dim) {
    const bool is_reduced = std::find(spec.dims.begin(), spec.dims.end(),
                                      static_cast<std::int64_t>(dim)) != spec.dims.end();
    if (is_reduced) {
      reduced_sizes.push_back(spec.input.sizes[dim]);
      reduced_strides.push_back(spec.input.strides[dim]);
      continue;
    }
    kept_sizes.push_back(spec.input.sizes[dim]);
    kept_strides[0].push_back(spec.input.strides[dim]);
    kept_strides[1].push_back(spec.output.strides[dim]);
    if (spec.indices) kept_strides[2].push_back(spec.indices->strides[dim]);
  }
  Loops loops;
  for (const std::int64_t size : reduced_sizes) loops.count *= size;
  // Positions count in the order of the dims; sums do not care.
  const LoopOrder order = has_position(spec.op) ? LoopOrder::kKeep : LoopOrder::kReorder;
  loops.reduced = make_loop_nest(reduced_sizes, {reduced_strides}, order);
  loops.kept = make_loop_nest(kept_sizes, kept_strides, LoopOrder::kReorder);
  return loops;
}

template <typename T, typename Accumulator>
class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const ReduceSpec& spec)
      : spec_(spec),
        loops_(make_loops(spec)),
        element_bytes_(static_cast<std::int64_t>(dtype_size(spec.input.dtype))),
        load_(load_function(spec.input.dtype, kRegister<T>)),
        store_(store_function(kRegister<T>, spec.output.dtype)),
        store_index_(spec.indices ? store_function(RegisterType::kInt64, spec.indices->dtype)
                                  : nullptr) {
    require(load_ != nullptr && store_ != nullptr, kName, "a dtype that it does not take");
    // Along the reduced elements where those are closest together, else across results.
    by_rows_ = loops_.kept.inner_size() == 1 ||
               (loops_.reduced.inner_size() > 1 &&
                std::abs(loops_.reduced.inner_stride(0)) < std::abs(loops_.kept.inner_stride(0)));
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    const std::int64_t columns = by_rows_ ? 1 : kColumns;
    const std::int64_t blocks = divide_up(loops_.kept.inner_size(), columns);
    if (blocks == 0) return;
    const std::int64_t work = std::max<std::int64_t>(1, loops_.count * columns);
    parallel_for(spec_.threads, loops_.kept.rows() * blocks,
                 std::max<std::int64_t>(1, kGrain / work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t column = i % blocks * columns;
                     run_block(operands, i / blocks, column,
                               std::min(columns, loops_.kept.inner_size() - column));
                   }
                 });
  }

 private:
  std::int64_t kept_offset(std::size_t operand, std::int64_t row, std::int64_t column) const {
    const RowWalker walker(loops_.kept.outer_sizes(), loops_.kept.outer_strides(operand), row);
    return walker.offset() + column * loops_.kept.inner_stride(operand);
  }

  void run_block(std::span<void* const> operands, std::int64_t row, std::int64_t column,
                 std::int64_t columns) const {
    Accumulator accumulators[kColumns];
    const auto* input =
        static_cast<const std::byte*>(operands[0]) + kept_offset(0, row, column) * element_bytes_;
    if (loops_.count == 0) {
      // Nothing is accumulated; what that gives is the accumulators' business.
    } else if (by_rows_) {
      accumulators[0] = reduce_row(input);
    } else {
      reduce_columns(input, columns, accumulators);
    }
    auto* output = static_cast<std::byte*>(operands[1]);
    const auto output_bytes = static_cast<std::int64_t>(dtype_size(spec_.output.dtype));
    for (std::int64_t i = 0; i < columns; ++i) {
      const T value = finished(accumulators[i]);
      store_(&value, 1, 1, output + kept_offset(1, row, column + i) * output_bytes);
      if constexpr (requires { accumulators[i].index; }) {
        if (store_index_ == nullptr) continue;
        auto* indices = static_cast<std::byte*>(operands[2]);
        const auto index_bytes = static_cast<std::int64_t>(dtype_size(spec_.indices->dtype));
        store_index_(&accumulators[i].index, 1, 1,
                     indices + kept_offset(2, row, column + i) * index_bytes);
      }
    }
  }

  T finished(const Accumulator& accumulator) const {
    if constexpr (std::is_same_v<Accumulator, VarianceAccumulator>) {
      const double divisor = std::max(0.0, static_cast<double>(loops_.count) - spec_.correction);
      const double variance = accumulator.centered_squares() / divisor;
      return spec_.op == ReduceOp::kStd ? std::sqrt(variance) : variance;
    } else {
      return accumulator.value(loops_.count);
    }
  }

  /// One result: its elements, a chunk at a time.
  Accumulator reduce_row(const std::byte* input) const {
    T chunk[kChunk];
    Accumulator lanes[kLanes];
    const std::int64_t size = loops_.reduced.inner_size();
    const std::int64_t stride = loops_.reduced.inner_stride(0);
    RowWalker walker(loops_.reduced.outer_sizes(), loops_.reduced.outer_strides(0), 0);
    const std::int64_t rows = size == 0 ? 0 : loops_.reduced.rows();
    for (std::int64_t row = 0; row < rows; ++row, walker.next()) {
      for (std::int64_t i = 0; i < size; i += kChunk) {
        const std::int64_t count = std::min(kChunk, size - i);
        load_(input + (walker.offset() + i * stride) * element_bytes_, stride, count, chunk);
        const std::int64_t first = row * size + i;
        std::int64_t j = 0;
        for (; j + kLanes <= count; j += kLanes) {
          for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane].add(chunk[j + lane], first + j + lane);
          }
        }
        for (; j < count; ++j) lanes[0].add(chunk[j], first + j);
      }
    }
    for (std::int64_t lane = 1; lane < kLanes; ++lane) lanes[0].merge(lanes[lane]);
    return lanes[0];
  }

  /// Neighbouring results: one element of each at a time.
  void reduce_columns(const std::byte* input, std::int64_t columns,
                      Accumulator* accumulators) const {
    T chunk[kColumns];
    const std::int64_t stride = loops_.kept.inner_stride(0);
    RowWalker walker(loops_.reduced.sizes, loops_.reduced.strides[0], 0);
    for (std::int64_t i = 0; i < loops_.count; ++i, walker.next()) {
      load_(input + walker.offset() * element_bytes_, stride, columns, chunk);
      for (std::int64_t j = 0; j < columns; ++j) accumulators[j].add(chunk[j], i);
    }
  }

  ReduceSpec spec_;
  Loops loops_;
  std::int64_t element_bytes_;
  LoadFunction load_;
  StoreFunction store_;
  StoreFunction store_index_;
  bool by_rows_;
};

template <typename T>
KernelPtr select_for_type(const ReduceSpec& spec) {
  const auto make = [&](auto accumulator) -> KernelPtr {
    return std::make_unique<ReduceKernel<T, decltype(accumulator)>>(spec);
  };
  switch (spec.op) {
    case ReduceOp::kSum:
      return make(SumAccumulator<T>());
    case ReduceOp::kProd:
      return make(ProdAccumulator<T>());
    case ReduceOp::kAmax:
    case ReduceOp::kMaxWithIndex:
      return make(ExtremeAccumulator<T, 1>());
    case ReduceOp::kAmin:
    case ReduceOp::kMinWithIndex:
      return make(ExtremeAccumulator<T, -1>());
    case ReduceOp::kAny:
      return make(AnyAccumulator<T>());
    case ReduceOp::kAll:
      return make(AllAccumulator<T>());
    case ReduceOp::kArgmax:
      return make(ArgmaxAccumulator<T>());
    case ReduceOp::kArgmin:
      return make(ArgminAccumulator<T>());
    case ReduceOp::kSumSquares:
      return make(SumSquaresAccumulator<T>());
    case ReduceOp::kSumAbsolute:
      return make(SumAbsoluteAccumulator<T>());
    case ReduceOp::kMean:
    case ReduceOp::kVar:
    case ReduceOp::kStd:
      break;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (spec.op == ReduceOp::kMean) return make(MeanAccumulator<double>());
    return make(VarianceAccumulator());
  }
  require(false, kName, "a mean, variance or deviation of integers");
  return nullptr;
}

void check(const ReduceSpec& spec) {
  Sizes expected = spec.input.sizes;
  for (const std::int64_t dim : spec.dims) {
    require(dim >= 0 && dim < spec.input.rank(), kName, "a dim that the input does not have");
    expected[static_cast<std::size_t>(dim)] = 1;
  }
  require(spec.output.sizes == expected, kName, "output sizes do not fit");
  const bool wants_indices =
      spec.op == ReduceOp::kMaxWithIndex || spec.op == ReduceOp::kMinWithIndex;
  require(spec.indices.has_value() == wants_indices, kName, "indices do not fit the op");
  require(!spec.indices || spec.indices->sizes == expected, kName, "index sizes do not fit");
  const bool needs_elements =
      has_position(spec.op) || spec.op == ReduceOp::kAmax || spec.op == ReduceOp::kAmin;
  if (needs_elements && spec.input.numel() == 0 && spec.output.numel() != 0) {
    throw Error(ErrorKind::kInvalidArgument, "the largest or smallest of no elements");
  }
}

}  // namespace

KernelPtr select_reduce(const ReduceSpec& spec) {
  check(spec);
  if (is_floating_point(spec.input.dtype)) return select_for_type<double>(spec);
  return select_for_type<std::int64_t>(spec);
}

}  // namespace unfuse::cpu
