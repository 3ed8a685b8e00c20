#include "targets/cpu/kernels/packed_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "packed rows";
/// Bytes that are worth a thread.
constexpr std::int64_t kGrainBytes = 1 << 15;

class PackedRowsKernel final : public Kernel {
 public:
  explicit PackedRowsKernel(const PackedRowsSpec& spec) : kept_(spec.kept) {}

  void run(std::span<void* const> operands, std::byte* /*scratch*/) const override {
    const auto* kept = static_cast<const std::uint8_t*>(operands[0]);
    auto* offsets = static_cast<std::int64_t*>(operands[1]);
    auto* sources = static_cast<std::int64_t*>(operands[2]);
    auto* places = static_cast<std::int64_t*>(operands[3]);
    const std::int64_t batch = kept_.sizes[0], length = kept_.sizes[1];
    std::int64_t count = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
      offsets[b] = count;
      for (std::int64_t l = 0; l < length; ++l) {
        const std::int64_t row = b * length + l;
        const bool is_kept = kept[b * kept_.strides[0] + l * kept_.strides[1]] != 0;
        places[row] = is_kept ? count : -1;
        if (is_kept) sources[count++] = row;
      }
    }
    offsets[batch] = count;
  }

 private:
  OperandSpec kept_;
};

/// Rows as bytes.
struct Rows {
  std::int64_t count = 0;
  std::int64_t bytes = 0;   ///< of a row
  std::int64_t stride = 0;  ///< of the input's rows, in bytes

  Rows(const OperandSpec& input, const OperandSpec& output) {
    require(input.rank() == 2 && input.sizes == output.sizes && input.dtype == output.dtype, kName,
            "operands that do not fit each other");
    require(trailing_dims_contiguous(input, 1) && output.is_contiguous(), kName,
            "rows that are not contiguous");
    const auto element = static_cast<std::int64_t>(dtype_size(input.dtype));
    count = input.sizes[0];
    bytes = input.sizes[1] * element;
    stride = input.strides[0] * element;
  }
  std::int64_t grain() const { return std::max<std::int64_t>(1, kGrainBytes / (bytes + 1)); }
};

class PackRowsKernel final : public Kernel {
 public:
  explicit PackRowsKernel(const PackRowsSpec& spec)
      : rows_(spec.input, spec.output), sequences_(spec.sequences), threads_(spec.threads) {}

  void run(std::span<void* const> operands, std::byte* /*scratch*/) const override {
    const std::int64_t count = static_cast<const std::int64_t*>(operands[0])[sequences_];
    const auto* sources = static_cast<const std::int64_t*>(operands[1]);
    const auto* input = static_cast<const std::byte*>(operands[2]);
    auto* output = static_cast<std::byte*>(operands[3]);
    parallel_for(threads_, count, rows_.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::memcpy(output + row * rows_.bytes, input + sources[row] * rows_.stride,
                    static_cast<std::size_t>(rows_.bytes));
      }
    });
  }

 private:
  Rows rows_;
  std::int64_t sequences_;
  int threads_;
};

class UnpackRowsKernel final : public Kernel {
 public:
  explicit UnpackRowsKernel(const UnpackRowsSpec& spec)
      : rows_(spec.input, spec.output), threads_(spec.threads) {}

  void run(std::span<void* const> operands, std::byte* /*scratch*/) const override {
    const auto* places = static_cast<const std::int64_t*>(operands[0]);
    const auto* input = static_cast<const std::byte*>(operands[1]);
    auto* output = static_cast<std::byte*>(operands[2]);
    const auto bytes = static_cast<std::size_t>(rows_.bytes);
    parallel_for(threads_, rows_.count, rows_.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::byte* to = output + row * rows_.bytes;
        if (places[row] < 0) {
          std::memset(to, 0, bytes);
        } else {
          std::memcpy(to, input + places[row] * rows_.stride, bytes);
        }
      }
    });
  }

 private:
  Rows rows_;
  int threads_;
};

}  // namespace

KernelPtr select_packed_rows(const PackedRowsSpec& spec) {
  require(spec.kept.dtype == DType::kBool && spec.kept.rank() == 2, kName,
          "what is kept is no bool matrix");
  return std::make_unique<PackedRowsKernel>(spec);
}

KernelPtr select_pack_rows(const PackRowsSpec& spec) {
  return std::make_unique<PackRowsKernel>(spec);
}

KernelPtr select_unpack_rows(const UnpackRowsSpec& spec) {
  return std::make_unique<UnpackRowsKernel>(spec);
}

}  // namespace unfuse::cpu
