#include "targets/cpu/kernels/fill.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;
constexpr std::int64_t kChunk = 256;

class FillKernel final : public Kernel {
 public:
  explicit FillKernel(const FillSpec& spec)
      : nest_(make_loop_nest(spec.output.sizes, {spec.output.strides}, LoopOrder::kReorder)),
        element_bytes_(static_cast<std::int64_t>(dtype_size(spec.output.dtype))),
        threads_(spec.threads) {
    const RegisterType type = spec.value.is_integer ? RegisterType::kInt64 : RegisterType::kFloat64;
    const StoreFunction store = store_function(type, spec.output.dtype);
    require(store != nullptr, "fill", "a dtype that it does not give");
    if (spec.value.is_integer) {
      store(&spec.value.as_integer, 1, 1, element_.data());
    } else {
      store(&spec.value.as_double, 1, 1, element_.data());
    }
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    switch (element_bytes_) {
      case 1:
        return fill<std::uint8_t>(operands[0]);
      case 2:
        return fill<std::uint16_t>(operands[0]);
      case 4:
        return fill<std::uint32_t>(operands[0]);
      default:
        return fill<std::uint64_t>(operands[0]);
    }
  }

 private:
  template <typename T>
  void fill(void* memory) const {
    T value;
    std::memcpy(&value, element_.data(), sizeof(T));
    auto* to = static_cast<T*>(memory);
    const std::int64_t size = nest_.inner_size();
    if (size == 0) return;
    const std::int64_t stride = nest_.inner_stride(0);
    if (nest_.sizes.size() == 1) {
      parallel_for(threads_, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
        fill_row(to + begin * stride, stride, end - begin, value);
      });
      return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / size);
    parallel_for(threads_, nest_.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
      RowWalker row(nest_.outer_sizes(), nest_.outer_strides(0), begin);
      for (std::int64_t i = begin; i < end; ++i, row.next()) {
        fill_row(to + row.offset(), stride, size, value);
      }
    });
  }

  template <typename T>
  static void fill_row(T* to, std::int64_t stride, std::int64_t count, T value) {
    if (stride == 1) {
      std::fill_n(to, count, value);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) to[i * stride] = value;
  }

  LoopNest nest_;
  std::int64_t element_bytes_;
  int threads_;
  alignas(8) std::array<std::byte, 8> element_ = {};
};

class ArangeKernel final : public Kernel {
 public:
  explicit ArangeKernel(const ArangeSpec& spec)
      : spec_(spec), is_integer_(spec.start.is_integer && spec.step.is_integer) {
    require(spec.output.rank() == 1, "arange", "an output that is not of rank 1");
    store_ = store_function(is_integer_ ? RegisterType::kInt64 : RegisterType::kFloat64,
                            spec.output.dtype);
    require(store_ != nullptr, "arange", "a dtype that it does not give");
  }

  void run(std::span<void* const> operands, std::byte*) const override {
    auto* to = static_cast<std::byte*>(operands[0]);
    const std::int64_t stride = spec_.output.strides[0];
    const auto element_bytes = static_cast<std::int64_t>(dtype_size(spec_.output.dtype));
    parallel_for(spec_.threads, spec_.output.sizes[0], kGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; i += kChunk) {
                     const std::int64_t count = std::min(kChunk, end - i);
                     write_chunk(i, count, stride, to + i * stride * element_bytes);
                   }
                 });
  }

 private:
  void write_chunk(std::int64_t first, std::int64_t count, std::int64_t stride, void* to) const {
    if (is_integer_) {
      std::int64_t values[kChunk];
      for (std::int64_t i = 0; i < count; ++i) {
        // Unsigned, so that a range up to the largest int64 does not overflow.
        values[i] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(spec_.start.as_integer) +
                                      static_cast<std::uint64_t>(first + i) *
                                          static_cast<std::uint64_t>(spec_.step.as_integer));
      }
      return store_(values, stride, count, to);
    }
    double values[kChunk];
    for (std::int64_t i = 0; i < count; ++i) {
      values[i] = spec_.start.as_double + static_cast<double>(first + i) * spec_.step.as_double;
    }
    store_(values, stride, count, to);
  }

  ArangeSpec spec_;
  bool is_integer_;
  StoreFunction store_ = nullptr;
};

}  // namespace

KernelPtr select_fill(const FillSpec& spec) { return std::make_unique<FillKernel>(spec); }
KernelPtr select_arange(const ArangeSpec& spec) { return std::make_unique<ArangeKernel>(spec); }

}  // namespace unfuse::cpu
