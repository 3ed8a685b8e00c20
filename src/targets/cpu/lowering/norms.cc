// Normalisations.
#include <limits>
#include <optional>
#include <vector>

#include "targets/cpu/kernels/layer_norm.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/pointwise_emitter.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;
constexpr RegisterType kFloat = RegisterType::kFloat32;

/// Of the ops that also give statistics, only the first result is computed.
Refusal accept_first_result_only(const Node& node) {
  for (std::size_t i = 1; i < node.results().size(); ++i) {
    if (node.results()[i]->use_count() > 0) return "its statistics are not supported as results";
  }
  return accept_float32(node);
}

struct Residual {
  View added;
  std::optional<View> sum;  ///< where it is written
};

void emit_norm(LoweringContext& context, NormKind kind, const View& input, std::int64_t rank,
               const Value* weight, const Value* bias, double eps, const View& to,
               const std::optional<Residual>& residual = std::nullopt) {
  NormSpec spec;
  spec.kind = kind;
  spec.input = input.spec;
  spec.normalized_rank = rank;
  spec.has_weight = weight != nullptr;
  spec.has_bias = bias != nullptr;
  spec.eps = eps;
  spec.output = to.spec;
  spec.threads = context.threads();
  std::int64_t normalized = 1;
  for (std::int64_t i = input.rank() - rank; i < input.rank(); ++i) normalized *= input.size(i);
  std::vector<View> inputs = {input};
  std::vector<View> outputs = {to};
  if (residual) {
    spec.residual = residual->added.spec;
    inputs.push_back(residual->added);
  }
  if (residual && residual->sum) {
    spec.sum = residual->sum->spec;
    outputs.insert(outputs.begin(), *residual->sum);
  }
  for (const Value* value : {weight, bias}) {
    if (value != nullptr) inputs.push_back(row_operand(context, value, normalized));
  }
  if (const std::optional<RowLimit> limit = context.row_limit()) {
    spec.counted_rows = limit->rows;
    inputs.insert(inputs.begin(), limit->count);
  }
  context.emit(select_norm(spec), inputs, outputs);
}

View with_contiguous_rows(LoweringContext& context, const View& view, std::int64_t rank) {
  return trailing_dims_contiguous(view.spec, rank) ? view : context.contiguous(view);
}

View result_of_rows(LoweringContext& context, const Value* value, std::int64_t rank) {
  View to = context.result(value);
  return trailing_dims_contiguous(to.spec, rank) ? to : context.contiguous_result(value);
}

/// layer_norm, native_layer_norm, rms_norm: the arguments that an op lacks are absent.
template <NormKind kKind>
void lower_norm(const Node& node, LoweringContext& context) {
  const auto rank = static_cast<std::int64_t>(node.argument("normalized_shape").dims().size());
  const View input = with_contiguous_rows(context, context.view(node.input(0)), rank);
  const View to = result_of_rows(context, node.result(), rank);
  const bool has_bias = node.op().schema.index_of("bias") >= 0;
  const Argument& eps = node.argument("eps");
  emit_norm(context, kKind, input, rank, node.argument("weight").value_or_null(),
            has_bias ? node.argument("bias").value_or_null() : nullptr,
            eps.is_none() ? std::numeric_limits<float>::epsilon() : eps.number(), to);
}

void lower_add_layer_norm(const Node& node, LoweringContext& context) {
  const auto rank = static_cast<std::int64_t>(node.argument("normalized_shape").dims().size());
  const Sizes sizes = context.sizes(node.result());
  const auto operand = [&](int index) {
    const View view = broadcast(context.view(node.input(index)), sizes);
    return with_contiguous_rows(context, view, rank);
  };
  const View input = operand(0);
  Residual residual{operand(1), std::nullopt};
  const View to = result_of_rows(context, node.result(), rank);
  const Value* sum = node.result(1);
  if (sum->use_count() > 0) residual.sum = result_of_rows(context, sum, rank);
  emit_norm(context, NormKind::kLayerNorm, input, rank, node.argument("weight").value_or_null(),
            node.argument("bias").value_or_null(), node.argument("eps").number(), to, residual);
}

Refusal accept_batch_norm(const Node& node) {
  const int training = node.op().schema.index_of("training");
  if (training >= 0 && node.argument(training).boolean()) {
    return "batch statistics (training=True) are not supported";
  }
  if (node.argument("running_mean").is_none() || node.argument("running_var").is_none()) {
    return "batch norm without running statistics is not supported";
  }
  return accept_first_result_only(node);
}

/// As PyTorch does it: scale = weight / sqrt(var + eps) and shift = bias - mean * scale a channel,
/// then x * scale + shift.
void lower_batch_norm(const Node& node, LoweringContext& context) {
  const Argument& mean = node.argument("running_mean");
  const Sizes channels = context.sizes(mean.value());
  const View scale = context.temporary(DType::kFloat32, channels);
  const View shift = context.temporary(DType::kFloat32, channels);
  PointwiseEmitter statistics(context);
  const int eps = statistics.load(node.argument("eps"), kFloat);
  const int variance = statistics.load(node.argument("running_var"), kFloat);
  const int deviation =
      statistics.emit(Op::kSqrt, kFloat, {statistics.emit(Op::kAdd, kFloat, {variance, eps})});
  int factor = statistics.emit(Op::kReciprocal, kFloat, {deviation});
  if (node.argument("weight").is_value()) {
    const int weight = statistics.load(node.argument("weight"), kFloat);
    factor = statistics.emit(Op::kMultiply, kFloat, {factor, weight});
  }
  const int moved = statistics.emit(Op::kMultiply, kFloat, {statistics.load(mean, kFloat), factor});
  const int bias = node.argument("bias").is_value() ? statistics.load(node.argument("bias"), kFloat)
                                                    : statistics.constant(0.0, kFloat);
  const int offset = statistics.emit(Op::kSubtract, kFloat, {bias, moved});
  statistics.finish({factor, offset}, channels, {scale, shift});

  const View input = context.view(node.input(0));
  const View to = context.result(node.result());
  PointwiseEmitter affine(context);
  const int product = affine.emit(
      Op::kMultiplyAdd, kFloat,
      {affine.load(input, kFloat), affine.load(along_channels(scale, input.rank()), kFloat),
       affine.load(along_channels(shift, input.rank()), kFloat)});
  affine.finish({product}, to.sizes(), {to});
}

std::int64_t group_count(const Node& node, const LoweringContext& context) {
  const bool native = node.op().schema.index_of("group") >= 0;
  return context.evaluate(node.argument(native ? "group" : "num_groups").dim());
}

/// Normalised as rows of one group each, then scaled and shifted a channel.
void lower_group_norm(const Node& node, LoweringContext& context) {
  const View input = context.contiguous(context.view(node.input(0)));
  if (input.numel() == 0) {
    context.result(node.result());
    return;
  }
  const std::int64_t groups = group_count(node, context);
  if (groups < 1 || input.size(1) % groups != 0) {
    throw Error(ErrorKind::kInvalidArgument, "the groups do not divide the channels");
  }
  const Sizes grouped = {input.size(0), groups, input.numel() / (input.size(0) * groups)};
  const View to = context.contiguous_result(node.result());
  const Value* weight = node.argument("weight").value_or_null();
  const Value* bias = node.argument("bias").value_or_null();
  const bool is_affine = weight != nullptr || bias != nullptr;
  const View normalized = is_affine ? context.temporary(DType::kFloat32, to.sizes()) : to;
  emit_norm(context, NormKind::kLayerNorm, *reshaped(input, grouped), 1, nullptr, nullptr,
            node.argument("eps").number(), *reshaped(normalized, grouped));
  if (!is_affine) return;

  PointwiseEmitter affine(context);
  int value = affine.load(normalized, kFloat);
  const auto channel = [&](const Value* parameter) {
    return affine.load(along_channels(context.view(parameter), input.rank()), kFloat);
  };
  if (weight != nullptr) value = affine.emit(Op::kMultiply, kFloat, {value, channel(weight)});
  if (bias != nullptr) value = affine.emit(Op::kAdd, kFloat, {value, channel(bias)});
  affine.finish({value}, to.sizes(), {to});
}

constexpr LoweringRow kRows[] = {
    {"aten.layer_norm.default", accept_float32, lower_norm<NormKind::kLayerNorm>},
    {"aten.native_layer_norm.default", accept_first_result_only, lower_norm<NormKind::kLayerNorm>},
    {"unfuse.add_layer_norm", refuse_from_outside, lower_add_layer_norm},
    {"aten.rms_norm.default", accept_float32, lower_norm<NormKind::kRmsNorm>},
    {"aten._fused_rms_norm.default", accept_first_result_only, lower_norm<NormKind::kRmsNorm>},
    {"aten.batch_norm.default", accept_batch_norm, lower_batch_norm},
    {"aten.native_batch_norm.default", accept_batch_norm, lower_batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", accept_batch_norm, lower_batch_norm},
    {"aten.group_norm.default", accept_float32, lower_group_norm},
    {"aten.native_group_norm.default", accept_first_result_only, lower_group_norm},
};

}  // namespace

std::span<const LoweringRow> norms_lowerings() { return kRows; }

}  // namespace unfuse::cpu
