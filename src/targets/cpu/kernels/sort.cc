#include "targets/cpu/kernels/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "sort";
constexpr std::int64_t kChunk = 256;
constexpr std::int64_t kGrain = 2048;
/// Up to this share of a line, picking the first elements while they are read beats parting the
/// line.
constexpr std::int64_t kPickedShare = 64;

/// Where an element stands: integers that compare as the elements do, equal ones by their places.
struct Entry {
  std::int64_t key;
  std::int64_t index;

  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

/// The bits of floating-point numbers compare as integers do, but for those below zero, which
/// compare the other way round.
std::int64_t ascending_key(double value) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (std::isnan(value)) return kLargest;
  const auto bits = std::bit_cast<std::int64_t>(value + 0.0);  // -0.0 becomes 0.0
  return bits < 0 ? bits ^ kLargest : bits;
}
std::int64_t ascending_key(std::int64_t value) { return value; }

Sizes without(Sizes values, std::size_t dim) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(dim));
  return values;
}

class SortKernel final : public Kernel {
 public:
  SortKernel(const SortSpec& spec, std::size_t dim)
      : descending_(spec.descending),
        threads_(spec.threads),
        size_(spec.input.sizes[dim]),
        count_(spec.values.sizes[dim]),
        bytes_(static_cast<std::int64_t>(dtype_size(spec.input.dtype))),
        input_stride_(spec.input.strides[dim]),
        value_stride_(spec.values.strides[dim]),
        index_stride_(spec.indices.strides[dim]),
        is_floating_(is_floating_point(spec.input.dtype)),
        load_(load_function(spec.input.dtype,
                            is_floating_ ? RegisterType::kFloat64 : RegisterType::kInt64)) {
    require(load_ != nullptr, kName, "a dtype that it does not take");
    nest_ = make_loop_nest(without(spec.input.sizes, dim),
                           {without(spec.input.strides, dim), without(spec.values.strides, dim),
                            without(spec.indices.strides, dim)},
                           LoopOrder::kReorder);
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * entries_bytes();
  }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const std::int64_t lines = nest_.rows() * nest_.inner_size();
    if (count_ == 0 || lines == 0) return;
    const auto* input = static_cast<const std::byte*>(operands[0]);
    auto* values = static_cast<std::byte*>(operands[1]);
    auto* indices = static_cast<std::int64_t*>(operands[2]);
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / size_);
    parallel_for(threads_, lines, grain, [&](std::int64_t begin, std::int64_t end) {
      auto* entries = reinterpret_cast<Entry*>(scratch + static_cast<std::size_t>(thread_index()) *
                                                             entries_bytes());
      RowWalker from(nest_.sizes, nest_.strides[0], begin);
      RowWalker to_value(nest_.sizes, nest_.strides[1], begin);
      RowWalker to_index(nest_.sizes, nest_.strides[2], begin);
      for (std::int64_t i = begin; i < end; ++i, from.next(), to_value.next(), to_index.next()) {
        const std::byte* line = input + from.offset() * bytes_;
        if (is_floating_) {
          order<double>(line, entries);
        } else {
          order<std::int64_t>(line, entries);
        }
        write(line, entries, values + to_value.offset() * bytes_, indices + to_index.offset());
      }
    });
  }

 private:
  std::size_t entries_bytes() const { return static_cast<std::size_t>(size_) * sizeof(Entry); }

  /// Calls visit with each element of the line in turn.
  template <typename T, typename Visit>
  void visit(const std::byte* line, const Visit& visit) const {
    T chunk[kChunk];
    for (std::int64_t i = 0; i < size_; i += kChunk) {
      const std::int64_t count = std::min(kChunk, size_ - i);
      load_(line + i * input_stride_ * bytes_, input_stride_, count, chunk);
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t key = ascending_key(chunk[j]);
        visit(Entry{descending_ ? ~key : key, i + j});
      }
    }
  }

  /// The first entries of the line in order.
  template <typename T>
  void order(const std::byte* line, Entry* entries) const {
    if (count_ <= size_ / kPickedShare) return pick<T>(line, entries);
    visit<T>(line, [&](const Entry& entry) { entries[entry.index] = entry; });
    Entry* last = entries + count_;
    if (count_ < size_) std::nth_element(entries, last - 1, entries + size_);
    std::sort(entries, last);
  }

  /// Holds no more than are wanted, in a heap with the last of them in front.
  template <typename T>
  void pick(const std::byte* line, Entry* entries) const {
    Entry* last = entries + count_;
    visit<T>(line, [&](const Entry& entry) {
      if (entry.index < count_) {
        entries[entry.index] = entry;
        std::push_heap(entries, entries + entry.index + 1);
      } else if (entry.key < entries->key) {
        std::pop_heap(entries, last);
        last[-1] = entry;
        std::push_heap(entries, last);
      }
    });
    std::sort_heap(entries, last);
  }

  void write(const std::byte* line, const Entry* entries, std::byte* values,
             std::int64_t* indices) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t index = entries[i].index;
      std::memcpy(values + i * value_stride_ * bytes_, line + index * input_stride_ * bytes_,
                  static_cast<std::size_t>(bytes_));
      indices[i * index_stride_] = index;
    }
  }

  bool descending_;
  int threads_;
  std::int64_t size_, count_, bytes_;
  std::int64_t input_stride_, value_stride_, index_stride_;
  bool is_floating_;
  LoadFunction load_;
  LoopNest nest_;
};

/// A scalar is a line of one element.
OperandSpec as_line(OperandSpec operand) {
  if (operand.rank() == 0) operand.sizes = operand.strides = {1};
  return operand;
}

}  // namespace

KernelPtr select_sort(const SortSpec& spec) {
  SortSpec line = spec;
  line.input = as_line(spec.input);
  line.values = as_line(spec.values);
  line.indices = as_line(spec.indices);
  require(line.dim >= 0 && line.dim < line.input.rank() && line.values.rank() == line.input.rank(),
          kName, "a dim that an operand does not have");
  const auto dim = static_cast<std::size_t>(line.dim);
  require(without(line.values.sizes, dim) == without(line.input.sizes, dim) &&
              line.values.sizes[dim] <= line.input.sizes[dim],
          kName, "values that are not some of the input's");
  require(line.values.dtype == line.input.dtype && line.indices.dtype == DType::kInt64 &&
              line.indices.sizes == line.values.sizes,
          kName, "results do not fit");
  return std::make_unique<SortKernel>(line, dim);
}

}  // namespace unfuse::cpu
