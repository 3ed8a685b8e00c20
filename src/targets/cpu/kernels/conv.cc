#include "targets/cpu/kernels/conv.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/empty_product.h"
#include "targets/cpu/kernels/onednn.h"
#include "targets/cpu/kernels/product_split.h"
#include "targets/cpu/kernels/widen_weight.h"

namespace unfuse::cpu {
namespace {

using onednn::LayoutPtr;

constexpr const char* kName = "conv";

/// oneDNN chooses a weight layout by the spatial sizes too, which packing does not know: the weight
/// is kept plain, and once more in each other layout that was ever asked for (few models have two).
class PackedConvWeight final : public Packed {
 public:
  PackedConvWeight(Sizes sizes, AlignedBuffer plain)
      : sizes_(std::move(sizes)), plain_(std::move(plain)) {
    if (plain_.bytes() != 0) plain_layout_ = plain_weight_layout(sizes_);
  }

  static LayoutPtr plain_weight_layout(const Sizes& sizes) {
    return onednn::strided_layout(sizes, OperandSpec::contiguous(DType::kFloat32, sizes).strides);
  }

  std::size_t bytes() const override {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = plain_.bytes();
    for (const Copy& copy : copies_) bytes += copy.buffer.bytes();
    return bytes;
  }

  /// [O, C, spatial...], or [G, O / G, C / G, spatial...] if grouped.
  const Sizes& sizes() const { return sizes_; }

  const std::byte* in_layout(const LayoutPtr& layout, int threads) const {
    if (onednn::same_layout(*layout, *plain_layout_)) return plain_.data();
    const std::lock_guard lock(mutex_);
    for (const Copy& copy : copies_) {
      if (onednn::same_layout(*layout, *copy.layout)) return copy.buffer.data();
    }
    copies_.push_back({layout, AlignedBuffer(onednn::layout_bytes(*layout))});
    onednn::reorder(*plain_layout_, plain_.data(), *layout, copies_.back().buffer.data(), threads);
    return copies_.back().buffer.data();
  }

 private:
  struct Copy {
    LayoutPtr layout;
    AlignedBuffer buffer;
  };

  Sizes sizes_;
  AlignedBuffer plain_;
  LayoutPtr plain_layout_;
  mutable std::mutex mutex_;
  mutable std::list<Copy> copies_;  // a list: addresses stay
};

/// Grouped weights have a dim of groups in front.
Sizes grouped_sizes(const Sizes& weight, std::int64_t groups) {
  if (groups == 1) return weight;
  Sizes sizes = weight;
  sizes[0] /= groups;
  sizes.insert(sizes.begin(), groups);
  return sizes;
}

std::int64_t multiply_adds(const ConvSpec& spec) {
  std::int64_t of_output = 1;
  for (std::size_t i = 1; i < spec.weight_sizes.size(); ++i) of_output *= spec.weight_sizes[i];
  return spec.output.numel() * of_output;
}

class ConvKernel final : public Kernel {
 public:
  explicit ConvKernel(const ConvSpec& spec)
      : has_bias_(spec.has_bias),
        threads_(spec.threads),
        weight_sizes_(grouped_sizes(spec.weight_sizes, spec.groups)) {
    onednn::ConvolutionProblem problem;
    problem.source = onednn::strided_layout(spec.input.sizes, spec.input.strides);
    problem.destination = onednn::strided_layout(spec.output.sizes, spec.output.strides);
    problem.weights = onednn::any_layout(weight_sizes_);
    problem.has_bias = spec.has_bias;
    problem.stride = spec.stride;
    problem.padding_begin = spec.padding_begin;
    problem.padding_end = spec.padding_end;
    problem.dilation = spec.dilation;
    problem.threads = useful_threads(multiply_adds(spec), spec.threads);
    primitive_ = onednn::make_convolution(problem);
    weight_layout_ = primitive_->weights_layout();
  }

  std::size_t scratch_bytes() const override { return primitive_->scratch_bytes(); }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const auto& weight = static_cast<const PackedConvWeight&>(packed_from_operand(operands[1]));
    require(weight.sizes() == weight_sizes_, kName, "a weight that was packed for other sizes");
    primitive_->execute(operands[0], weight.in_layout(weight_layout_, threads_),
                        has_bias_ ? operands[2] : nullptr, operands.back(), scratch);
  }

 private:
  bool has_bias_;
  int threads_;
  Sizes weight_sizes_;
  onednn::PrimitivePtr primitive_;
  LayoutPtr weight_layout_;
};

void check(const ConvSpec& spec) {
  const std::size_t rank = spec.input.sizes.size();
  require((rank == 3 || rank == 4) && spec.output.sizes.size() == rank &&
              spec.weight_sizes.size() == rank,
          kName, "ranks do not fit");
  require(conv_takes(spec.input) && conv_takes(spec.output), kName,
          "an operand of strides or of a dtype that it does not take");
  const std::size_t spatial = rank - 2;
  require(spec.stride.size() == spatial && spec.padding_begin.size() == spatial &&
              spec.padding_end.size() == spatial && spec.dilation.size() == spatial,
          kName, "window parameters do not fit");
  require(spec.groups >= 1 && spec.weight_sizes[0] % spec.groups == 0 &&
              spec.input.sizes[1] == spec.weight_sizes[1] * spec.groups &&
              spec.output.sizes[1] == spec.weight_sizes[0] &&
              spec.output.sizes[0] == spec.input.sizes[0],
          kName, "channels do not fit");
  for (std::size_t dim = 0; dim < spatial; ++dim) {
    const std::int64_t window = spec.dilation[dim] * (spec.weight_sizes[dim + 2] - 1) + 1;
    const std::int64_t padded =
        spec.input.sizes[dim + 2] + spec.padding_begin[dim] + spec.padding_end[dim];
    require(padded >= window, kName, "a window larger than the input");
    require(spec.output.sizes[dim + 2] == (padded - window) / spec.stride[dim] + 1, kName,
            "output sizes do not fit");
  }
}

}  // namespace

PackedPtr pack_conv_weight(const OperandSpec& weight, const void* data, std::int64_t groups,
                           int threads) {
  require(weight.rank() == 3 || weight.rank() == 4, kName, "a weight that is not of rank 3 or 4");
  require(groups >= 1 && weight.sizes[0] % groups == 0, kName, "groups do not divide the channels");
  return std::make_shared<PackedConvWeight>(grouped_sizes(weight.sizes, groups),
                                            widen_weight(weight, data, threads));
}

bool conv_takes(const OperandSpec& operand) {
  if (operand.dtype != DType::kFloat32 || operand.rank() < 3) return false;
  if (operand.is_contiguous()) return true;
  OperandSpec channels_last = operand;
  const auto move = [](Sizes& values) {
    std::rotate(values.begin() + 1, values.begin() + 2, values.end());
  };
  move(channels_last.sizes);
  move(channels_last.strides);
  return channels_last.is_contiguous();
}

KernelPtr select_conv(const ConvSpec& spec) {
  check(spec);
  if (spec.output.numel() == 0 || spec.input.numel() == 0) {
    // Without input channels the sum is empty: the bias of a channel is a column of the output
    // with the channels last.
    OperandSpec output = spec.output;
    const auto move = [](Sizes& values) {
      std::rotate(values.begin() + 1, values.begin() + 2, values.end());
    };
    move(output.sizes);
    move(output.strides);
    return select_empty_product(Epilogue::kNone, output, spec.has_bias, {}, spec.threads);
  }
  return std::make_unique<ConvKernel>(spec);
}

}  // namespace unfuse::cpu
