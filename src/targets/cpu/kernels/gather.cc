#include "targets/cpu/kernels/gather.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "targets/cpu/kernels/index_loops.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

struct Bytes16 {
  std::uint64_t low, high;
};

template <typename T>
void copy_elements(const void* from, std::int64_t from_stride, std::int64_t count, void* to,
                   std::int64_t to_stride) {
  const auto* source = static_cast<const T*>(from);
  auto* target = static_cast<T*>(to);
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) target[i * to_stride] = source[i * from_stride];
}

using CopyFunction = void (*)(const void* from, std::int64_t from_stride, std::int64_t count,
                              void* to, std::int64_t to_stride);

CopyFunction copy_function(std::size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return copy_elements<std::uint8_t>;
    case 2:
      return copy_elements<std::uint16_t>;
    case 4:
      return copy_elements<std::uint32_t>;
    case 8:
      return copy_elements<std::uint64_t>;
    default:
      return copy_elements<Bytes16>;
  }
}

/// 16-bit floats into float32 of any stride.
template <DType kFrom>
void widen_elements(const void* from, std::int64_t from_stride, std::int64_t count, void* to,
                    std::int64_t to_stride) {
  static const LoadFunction load = load_function(kFrom, RegisterType::kFloat32);
  if (to_stride == 1) return load(from, from_stride, count, to);
  for (std::int64_t i = 0; i < count; ++i) {
    load(static_cast<const std::uint16_t*>(from) + i * from_stride, 1, 1,
         static_cast<float*>(to) + i * to_stride);
  }
}

CopyFunction copy_function(DType from, DType to) {
  if (from == to) return copy_function(dtype_size(from));
  require(to == DType::kFloat32 && (from == DType::kFloat16 || from == DType::kBFloat16), "index",
          "a conversion that it does not do");
  return from == DType::kFloat16 ? widen_elements<DType::kFloat16>
                                 : widen_elements<DType::kBFloat16>;
}

class IndexKernel final : public Kernel {
 public:
  explicit IndexKernel(const IndexSpec& spec)
      : loops_("index", spec.input, spec.dims, spec.indices, spec.output, spec.wrap_negative),
        copy_(copy_function(spec.input.dtype, spec.output.dtype)),
        input_bytes_(static_cast<std::int64_t>(dtype_size(spec.input.dtype))),
        output_bytes_(static_cast<std::int64_t>(dtype_size(spec.output.dtype))),
        threads_(spec.threads) {}

  void run(std::span<void* const> operands, std::byte*) const override {
    const std::int64_t elements = loops_.element_count();
    if (elements == 0) return;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / elements);
    const auto indices = operands.subspan(1, operands.size() - 2);
    parallel_for(
        threads_, loops_.position_count(), grain, [&](std::int64_t begin, std::int64_t end) {
          IndexLoops::Walker walker(loops_, indices, begin);
          for (std::int64_t i = begin; i < end; ++i, walker.next()) {
            copy_slice(
                static_cast<const std::byte*>(operands[0]) + walker.indexed_offset() * input_bytes_,
                static_cast<std::byte*>(operands.back()) + walker.slices_offset() * output_bytes_);
          }
        });
  }

 private:
  void copy_slice(const std::byte* from, std::byte* to) const {
    const LoopNest& nest = loops_.elements();
    RowWalker source(nest.outer_sizes(), nest.outer_strides(0), 0);
    RowWalker target(nest.outer_sizes(), nest.outer_strides(1), 0);
    const std::int64_t rows = nest.rows();
    for (std::int64_t row = 0; row < rows; ++row, source.next(), target.next()) {
      copy_(from + source.offset() * input_bytes_, nest.inner_stride(0), nest.inner_size(),
            to + target.offset() * output_bytes_, nest.inner_stride(1));
    }
  }

  IndexLoops loops_;
  CopyFunction copy_;
  std::int64_t input_bytes_, output_bytes_;
  int threads_;
};

/// Elements of T's size, indices of type Index.
template <typename T, typename Index>
class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const GatherSpec& spec) : threads_(spec.threads) {
    const auto dim = static_cast<std::size_t>(spec.dim);
    const bool is_scalar = spec.input.rank() == 0;
    size_ = is_scalar ? 1 : spec.input.sizes[dim];
    stride_ = is_scalar ? 0 : spec.input.strides[dim];
    Sizes input_strides = spec.input.strides;
    if (!is_scalar) input_strides[dim] = 0;
    nest_ =
        make_loop_nest(spec.index.sizes, {input_strides, spec.index.strides, spec.output.strides},
                       LoopOrder::kReorder);
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    const std::int64_t columns = nest_.inner_size();
    if (columns == 0) return;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / columns);
    parallel_for(threads_, nest_.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
      RowWalker input(nest_.outer_sizes(), nest_.outer_strides(0), begin);
      RowWalker index(nest_.outer_sizes(), nest_.outer_strides(1), begin);
      RowWalker output(nest_.outer_sizes(), nest_.outer_strides(2), begin);
      for (std::int64_t row = begin; row < end; ++row, input.next(), index.next(), output.next()) {
        gather_row(static_cast<const T*>(operands[0]) + input.offset(),
                   static_cast<const Index*>(operands[1]) + index.offset(),
                   static_cast<T*>(operands[2]) + output.offset());
      }
    });
  }

 private:
  void gather_row(const T* input, const Index* index, T* output) const {
    for (std::int64_t i = 0; i < nest_.inner_size(); ++i) {
      const std::int64_t at = index[i * nest_.inner_stride(1)];
      if (at < 0 || at >= size_) index_out_of_range(at, size_);
      output[i * nest_.inner_stride(2)] = input[i * nest_.inner_stride(0) + at * stride_];
    }
  }

  LoopNest nest_;
  std::int64_t size_, stride_;
  int threads_;
};

template <typename T>
KernelPtr select_gather_of(const GatherSpec& spec) {
  if (spec.index.dtype == DType::kInt64) {
    return std::make_unique<GatherKernel<T, std::int64_t>>(spec);
  }
  return std::make_unique<GatherKernel<T, std::int32_t>>(spec);
}

class IndexPutKernel final : public Kernel {
 public:
  explicit IndexPutKernel(const IndexPutSpec& spec)
      : loops_("index_put", spec.output, spec.dims, spec.indices, spec.values, true),
        element_bytes_(static_cast<std::int64_t>(dtype_size(spec.output.dtype))),
        accumulate_(spec.accumulate),
        copy_(copy_function(dtype_size(spec.output.dtype))) {
    require(spec.values.dtype == spec.output.dtype, "index_put", "values of another dtype");
    if (!accumulate_) return;
    type_ = natural_register(spec.output.dtype);
    load_ = load_function(spec.output.dtype, type_);
    store_ = store_function(type_, spec.output.dtype);
    require(load_ != nullptr, "index_put", "a dtype that it does not add");
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    const std::int64_t elements = loops_.element_count();
    const std::int64_t positions = elements == 0 ? 0 : loops_.position_count();
    const auto indices = operands.subspan(1, operands.size() - 2);
    IndexLoops::Walker walker(loops_, indices, 0);
    for (std::int64_t i = 0; i < positions; ++i, walker.next()) {
      put_slice(
          static_cast<const std::byte*>(operands[0]) + walker.slices_offset() * element_bytes_,
          static_cast<std::byte*>(operands.back()) + walker.indexed_offset() * element_bytes_);
    }
  }

 private:
  void put_slice(const std::byte* values, std::byte* output) const {
    const LoopNest& nest = loops_.elements();
    RowWalker target(nest.outer_sizes(), nest.outer_strides(0), 0);
    RowWalker source(nest.outer_sizes(), nest.outer_strides(1), 0);
    const std::int64_t rows = nest.rows();
    for (std::int64_t row = 0; row < rows; ++row, source.next(), target.next()) {
      const std::byte* from = values + source.offset() * element_bytes_;
      std::byte* to = output + target.offset() * element_bytes_;
      if (accumulate_) {
        add_row(from, nest.inner_stride(1), nest.inner_size(), to, nest.inner_stride(0));
      } else {
        copy_(from, nest.inner_stride(1), nest.inner_size(), to, nest.inner_stride(0));
      }
    }
  }

  void add_row(const std::byte* from, std::int64_t from_stride, std::int64_t count, std::byte* to,
               std::int64_t to_stride) const {
    for (std::int64_t i = 0; i < count; ++i) {
      add_element(from + i * from_stride * element_bytes_, to + i * to_stride * element_bytes_);
    }
  }

  void add_element(const std::byte* from, std::byte* to) const {
    switch (type_) {
      case RegisterType::kFloat32:
        return add_as<float>(from, to);
      case RegisterType::kFloat64:
        return add_as<double>(from, to);
      case RegisterType::kInt64:
        return add_as<std::uint64_t>(from, to);  // wraps around
    }
  }

  template <typename T>
  void add_as(const std::byte* from, std::byte* to) const {
    T left = 0;
    T right = 0;
    load_(to, 1, 1, &left);
    load_(from, 1, 1, &right);
    const T sum = left + right;
    store_(&sum, 1, 1, to);
  }

  IndexLoops loops_;
  std::int64_t element_bytes_;
  bool accumulate_;
  CopyFunction copy_;
  RegisterType type_ = RegisterType::kFloat32;
  LoadFunction load_ = nullptr;
  StoreFunction store_ = nullptr;
};

}  // namespace

KernelPtr select_index(const IndexSpec& spec) { return std::make_unique<IndexKernel>(spec); }

KernelPtr select_gather(const GatherSpec& spec) {
  constexpr const char* kName = "gather";
  require(spec.index.rank() == spec.input.rank() && spec.index.sizes == spec.output.sizes, kName,
          "sizes do not fit");
  require(spec.dim >= 0 && spec.dim < std::max<std::int64_t>(1, spec.input.rank()), kName,
          "a dim that the input does not have");
  require(spec.index.dtype == DType::kInt64 || spec.index.dtype == DType::kInt32, kName,
          "an index of another dtype");
  require(spec.input.dtype == spec.output.dtype, kName, "input and output differ in dtype");
  for (std::size_t dim = 0; dim < spec.input.sizes.size(); ++dim) {
    const bool is_along = static_cast<std::int64_t>(dim) == spec.dim;
    require(is_along || spec.index.sizes[dim] <= spec.input.sizes[dim] || spec.index.numel() == 0,
            kName, "an index larger than the input");
  }
  switch (dtype_size(spec.input.dtype)) {
    case 1:
      return select_gather_of<std::uint8_t>(spec);
    case 2:
      return select_gather_of<std::uint16_t>(spec);
    case 4:
      return select_gather_of<std::uint32_t>(spec);
    case 8:
      return select_gather_of<std::uint64_t>(spec);
    default:
      return select_gather_of<Bytes16>(spec);
  }
}

KernelPtr select_index_put(const IndexPutSpec& spec) {
  return std::make_unique<IndexPutKernel>(spec);
}

}  // namespace unfuse::cpu
