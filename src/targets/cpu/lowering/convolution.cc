// Convolution over one or two spatial dimensions.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "targets/cpu/kernels/conv.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"

namespace unfuse::cpu {
namespace {

/// For a weight that is computed anew each run: packs it, then convolves.
class PackingConvolution final : public Kernel {
 public:
  PackingConvolution(OperandSpec weight, std::int64_t groups, int threads, KernelPtr convolution)
      : weight_(std::move(weight)),
        groups_(groups),
        threads_(threads),
        convolution_(std::move(convolution)) {}

  std::size_t scratch_bytes() const override { return convolution_->scratch_bytes(); }

  void run(std::span<void* const> operands, std::byte* scratch) const override {
    const PackedPtr packed = pack_conv_weight(weight_, operands[1], groups_, threads_);
    std::vector<void*> with_packed(operands.begin(), operands.end());
    with_packed[1] = packed_operand(*packed);
    convolution_->run(with_packed, scratch);
  }

 private:
  OperandSpec weight_;
  std::int64_t groups_;
  int threads_;
  KernelPtr convolution_;
};

Refusal accept_convolution(const Node& node) {
  const int transposed = node.op().schema.index_of("transposed");
  if (transposed >= 0 && node.argument(transposed).boolean()) {
    return "transposed convolution is not supported";
  }
  const std::int64_t spatial = node.argument("weight").value()->rank() - 2;
  if (spatial < 1) return "a weight without spatial dimensions";
  if (spatial > 2) return fmt::format("convolution over {} dimensions is not supported", spatial);
  if (node.input(0)->rank() != spatial + 2) return "convolution without a batch is not supported";
  return accept_float32(node);
}

/// One number for all spatial dimensions, or one each.
Sizes spatial_list(const Argument& argument, std::size_t rank, const LoweringContext& context) {
  Sizes sizes = context.evaluate(argument.dims());
  if (sizes.size() == 1) sizes.assign(rank, sizes[0]);
  return sizes;
}

std::optional<PackRequest> pack_convolution(const Node& node,
                                            const std::function<bool(const Value*)>& is_prepared) {
  const Value* weight = node.argument("weight").value();
  const std::optional<std::int64_t> groups = node.argument("groups").dim().constant();
  if (!is_prepared(weight) || !groups) return std::nullopt;
  return PackRequest{weight, fmt::format("convolution {}", *groups),
                     [groups](const OperandSpec& spec, const void* data, int threads) {
                       return pack_conv_weight(spec, data, *groups, threads);
                     }};
}

void lower_convolution(const Node& node, LoweringContext& context) {
  const View input = context.contiguous_unless(context.view(node.input(0)), conv_takes);
  const View to = context.result_if(node.result(), conv_takes);
  const Value* weight = node.argument("weight").value();
  const Value* bias = node.argument("bias").value_or_null();
  const auto spatial = static_cast<std::size_t>(weight->rank() - 2);
  ConvSpec spec;
  spec.input = input.spec;
  spec.weight_sizes = context.sizes(weight);
  spec.has_bias = bias != nullptr;
  spec.stride = spatial_list(node.argument("stride"), spatial, context);
  spec.padding_begin = spatial_list(node.argument("padding"), spatial, context);
  spec.padding_end = spec.padding_begin;
  spec.dilation = spatial_list(node.argument("dilation"), spatial, context);
  spec.groups = context.evaluate(node.argument("groups").dim());
  spec.output = to.spec;
  spec.threads = context.threads();

  KernelPtr kernel = to.numel() == 0 ? nullptr : select_conv(spec);
  if (kernel == nullptr) return;
  std::vector<View> inputs = {input};
  if (const std::optional<View> packed = context.packed(node)) {
    inputs.push_back(*packed);
  } else {
    inputs.push_back(context.view(weight));
    kernel = std::make_unique<PackingConvolution>(inputs[1].spec, spec.groups, spec.threads,
                                                  std::move(kernel));
  }
  if (bias != nullptr) inputs.push_back(row_operand(context, bias, to.size(1)));
  context.emit(std::move(kernel), inputs, {to});
}

constexpr LoweringRow kRows[] = {
    {"aten.convolution.default", accept_convolution, lower_convolution, pack_convolution},
    {"aten.conv1d.default", accept_convolution, lower_convolution, pack_convolution},
    {"aten.conv2d.default", accept_convolution, lower_convolution, pack_convolution},
};

}  // namespace

std::span<const LoweringRow> convolution_lowerings() { return kRows; }

}  // namespace unfuse::cpu
