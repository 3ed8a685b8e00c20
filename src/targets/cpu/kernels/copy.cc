#include "targets/cpu/kernels/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/pointwise.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

/// Bytes that a thread should have to copy at least.
constexpr std::int64_t kGrainBytes = 65536;
/// Edge of the squares in which transposes are done.
constexpr std::int64_t kBlock = 16;

struct Bytes16 {
  std::uint64_t low, high;
};

/// `count` elements from one stride to another.
template <typename T>
void copy_row(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
              std::int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, count, *from);
  } else if (to_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * from_stride];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

/// to[i * to_stride + j] = from[j * from_stride + i] for i < rows and j < columns.
template <typename T>
void transpose_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                     std::int64_t rows, std::int64_t columns) {
  T block[kBlock][kBlock];
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) block[i][j] = from[j * from_stride + i];
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * to_stride, block[i], static_cast<std::size_t>(columns) * sizeof(T));
  }
}

/// Same dtype on both sides, elements of T's size.
template <typename T>
class CopyKernel final : public Kernel {
 public:
  CopyKernel(LoopNest nest, int threads) : nest_(std::move(nest)), threads_(threads) {
    find_transposed_dim();
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    const auto* from = static_cast<const T*>(operands[0]);
    auto* to = static_cast<T*>(operands[1]);
    if (nest_.inner_size() == 0) return;
    if (transposed_dim_ >= 0) return transpose(from, to);
    if (nest_.sizes.size() == 1) return copy_single_row(from, to);
    const std::int64_t grain = grain_for(nest_.inner_size());
    parallel_for(threads_, nest_.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
      RowWalker source(nest_.outer_sizes(), nest_.outer_strides(0), begin);
      RowWalker target(nest_.outer_sizes(), nest_.outer_strides(1), begin);
      for (std::int64_t row = begin; row < end; ++row, source.next(), target.next()) {
        copy_row(from + source.offset(), nest_.inner_stride(0), to + target.offset(),
                 nest_.inner_stride(1), nest_.inner_size());
      }
    });
  }

 private:
  static std::int64_t grain_for(std::int64_t elements) {
    const auto bytes = elements * static_cast<std::int64_t>(sizeof(T));
    return std::max<std::int64_t>(1, kGrainBytes / std::max<std::int64_t>(1, bytes));
  }

  void copy_single_row(const T* from, T* to) const {
    const std::int64_t from_stride = nest_.inner_stride(0);
    const std::int64_t to_stride = nest_.inner_stride(1);
    parallel_for(threads_, nest_.inner_size(), grain_for(1),
                 [&](std::int64_t begin, std::int64_t end) {
                   copy_row(from + begin * from_stride, from_stride, to + begin * to_stride,
                            to_stride, end - begin);
                 });
  }

  /// A transpose: the output runs along the innermost dim, the input along another one, which moves
  /// to the place beside it.
  void find_transposed_dim() {
    const std::size_t rank = nest_.sizes.size();
    if (nest_.inner_stride(1) != 1 || nest_.inner_stride(0) <= 1) return;
    for (std::size_t dim = 0; dim + 1 < rank; ++dim) {
      if (nest_.strides[0][dim] != 1) continue;
      transposed_dim_ = static_cast<std::int64_t>(dim);
      const auto move = [&](Sizes& values) {
        std::rotate(values.begin() + transposed_dim_, values.begin() + transposed_dim_ + 1,
                    values.end() - 1);
      };
      move(nest_.sizes);
      for (Sizes& strides : nest_.strides) move(strides);
      return;
    }
  }

  void transpose(const T* from, T* to) const {
    const std::size_t outer = nest_.sizes.size() - 2;
    const std::int64_t height = nest_.sizes[outer];
    const std::int64_t width = nest_.inner_size();
    const std::int64_t from_stride = nest_.inner_stride(0);
    const std::int64_t to_stride = nest_.strides[1][outer];
    const auto sizes = std::span(nest_.sizes).first(outer);
    const std::int64_t strips = divide_up(height, kBlock);  // of kBlock output rows
    std::int64_t matrices = 1;
    for (const std::int64_t size : sizes) matrices *= size;
    parallel_for(
        threads_, matrices * strips, grain_for(kBlock * width),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t strip = begin; strip < end; ++strip) {
            const std::int64_t matrix = strip / strips;
            const std::int64_t i = strip % strips * kBlock;
            const RowWalker source(sizes, std::span(nest_.strides[0]).first(outer), matrix);
            const RowWalker target(sizes, std::span(nest_.strides[1]).first(outer), matrix);
            const T* strip_from = from + source.offset() + i;
            T* strip_to = to + target.offset() + i * to_stride;
            const std::int64_t rows = std::min(kBlock, height - i);
            for (std::int64_t j = 0; j < width; j += kBlock) {
              transpose_block(strip_from + j * from_stride, from_stride, strip_to + j, to_stride,
                              rows, std::min(kBlock, width - j));
            }
          }
        });
  }

  LoopNest nest_;
  int threads_;
  std::int64_t transposed_dim_ = -1;
};

KernelPtr select_same_dtype(const CopySpec& spec) {
  LoopNest nest = make_loop_nest(spec.input.sizes, {spec.input.strides, spec.output.strides},
                                 LoopOrder::kReorder);
  switch (dtype_size(spec.input.dtype)) {
    case 1:
      return std::make_unique<CopyKernel<std::uint8_t>>(std::move(nest), spec.threads);
    case 2:
      return std::make_unique<CopyKernel<std::uint16_t>>(std::move(nest), spec.threads);
    case 4:
      return std::make_unique<CopyKernel<std::uint32_t>>(std::move(nest), spec.threads);
    case 8:
      return std::make_unique<CopyKernel<std::uint64_t>>(std::move(nest), spec.threads);
    default:
      return std::make_unique<CopyKernel<Bytes16>>(std::move(nest), spec.threads);
  }
}

}  // namespace

KernelPtr select_copy(const CopySpec& spec) {
  require(spec.input.sizes == spec.output.sizes, "copy", "input and output differ in sizes");
  if (spec.input.dtype == spec.output.dtype) return select_same_dtype(spec);
  // A conversion is a pointwise program of no instructions.
  const RegisterType type = natural_register(spec.input.dtype);
  PointwiseSpec program;
  program.program = {{type}, {}, {0}};
  program.sizes = spec.input.sizes;
  program.inputs = {spec.input};
  program.outputs = {spec.output};
  program.threads = spec.threads;
  return select_pointwise(program);
}

}  // namespace unfuse::cpu
