// Norms.

#include "onnx/lowering/families.h"
#include "ops/numbers_of_dtypes.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

Attributes epsilon(const Node& node) {
  return {{"epsilon", static_cast<float>(node.argument("eps").number())}};
}

/// Elements for `sizes`, all the same.
Operand filled(LoweringContext& context, double value, const std::vector<Dim>& sizes, DType dtype) {
  return context.expand(context.number(value, dtype), {}, sizes);
}

/// The last dimensions of the input, as many as `normalized_shape` has.
std::vector<std::int64_t> normalized_axes(const Node& node) {
  const std::int64_t rank = node.input(0)->rank();
  const auto count = static_cast<std::int64_t>(node.argument("normalized_shape").dims().size());
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

struct Normalized {
  Operand result;
  Operand mean;
  Operand inverse_deviation;
};

/// ONNX takes the statistics of a float64 tensor in float32.
Normalized spelled_layer_norm(const Node& node, LoweringContext& context, Operand input) {
  const std::vector<std::int64_t> axes = normalized_axes(node);
  const Operand mean = context.reduce("ReduceMean", input, axes);
  const Operand centered = context.emit("Sub", {input, mean});
  const Operand variance =
      context.reduce("ReduceMean", context.emit("Mul", {centered, centered}), axes);
  const Operand eps = context.number(node.argument("eps").number(), input.dtype);
  const Operand deviation = context.emit("Sqrt", {context.emit("Add", {variance, eps})});
  const Operand inverse = context.emit("Reciprocal", {deviation});
  Operand result = context.emit("Mul", {centered, inverse});
  const Operand weight = context.optional_operand(node.argument("weight"), input.dtype);
  const Operand bias = context.optional_operand(node.argument("bias"), input.dtype);
  if (weight.id >= 0) result = context.emit("Mul", {result, weight});
  if (bias.id >= 0) result = context.emit("Add", {result, bias});
  return {result, mean, inverse};
}

Normalized normalize(const Node& node, LoweringContext& context, bool with_statistics) {
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const Operand input = context.operand(node.argument(0), dtype);
  if (dtype == DType::kFloat64) return spelled_layer_norm(node, context, input);
  Operand weight = context.optional_operand(node.argument("weight"), dtype);
  if (weight.id < 0) weight = filled(context, 1, node.argument("normalized_shape").dims(), dtype);
  const Operand bias = context.optional_operand(node.argument("bias"), dtype);
  Attributes attributes = epsilon(node);
  attributes.push_back({"axis", normalized_axes(node).front()});
  std::vector<DType> results(with_statistics ? 3 : 1, DType::kFloat32);
  results.front() = dtype;
  const std::vector<Operand> made =
      context.builder().add_node("LayerNormalization", {input, weight, bias}, results, attributes);
  return {made[0], with_statistics ? made[1] : Operand(), with_statistics ? made[2] : Operand()};
}

void layer_norm(const Node& node, LoweringContext& context) {
  context.define(node.result(), normalize(node, context, false).result);
}

void native_layer_norm(const Node& node, LoweringContext& context) {
  const Normalized made = normalize(node, context, true);
  context.define(node.result(0), made.result);
  context.define(node.result(1), made.mean);
  context.define(node.result(2), made.inverse_deviation);
}

/// [C] as [C, 1, ...], to stand beside [N, C, ...].
Operand along_channels(LoweringContext& context, const Argument& argument, const Value* input,
                       DType dtype) {
  std::vector<Dim> sizes(static_cast<std::size_t>(input->rank() - 1), Dim(1));
  sizes.front() = input->size(1);
  return context.reshape(context.operand(argument, dtype), argument.value()->sizes(), sizes);
}

void group_norm(const Node& node, LoweringContext& context) {
  const Value* input = node.input(0);
  const DType dtype = wide_dtype(node.result()->dtype());
  const std::int64_t groups = node.argument("num_groups").integer();
  std::vector<Dim> grouped = {input->size(0), groups, Dim::floordiv(input->size(1), groups)};
  for (std::int64_t i = 2; i < input->rank(); ++i) grouped[2] *= input->size(i);
  const Operand flat =
      context.reshape(context.operand(node.argument(0), dtype), input->sizes(), grouped);
  const Operand one = filled(context, 1, {groups}, dtype);
  const Operand zero = filled(context, 0, {groups}, dtype);
  Operand result = context.emit("InstanceNormalization", {flat, one, zero}, epsilon(node));
  result = context.reshape(result, grouped, input->sizes());
  const Argument& weight = node.argument("weight");
  const Argument& bias = node.argument("bias");
  if (!weight.is_none()) {
    result = context.emit("Mul", {result, along_channels(context, weight, input, dtype)});
  }
  if (!bias.is_none()) {
    result = context.emit("Add", {result, along_channels(context, bias, input, dtype)});
  }
  context.define(node.result(), result);
}

void batch_norm(const Node& node, LoweringContext& context) {
  if (node.argument("training").boolean()) refuse("it is in training mode");
  const Value* input = node.input(0);
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const auto channels = [&](std::string_view name, double otherwise) {
    const Argument& argument = node.argument(name);
    if (argument.is_none()) return filled(context, otherwise, {input->size(1)}, dtype);
    return context.operand(argument, dtype);
  };
  const Operand x = context.operand(node.argument(0), dtype);
  context.define(node.result(),
                 context.emit("BatchNormalization",
                              {x, channels("weight", 1), channels("bias", 0),
                               channels("running_mean", 0), channels("running_var", 1)},
                              epsilon(node)));
}

void rms_norm(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  const Operand x = context.operand(node.argument(0), dtype);
  const Argument& eps = node.argument("eps");
  // PyTorch's default is that of the dtype it computes in.
  const double small = eps.is_none() ? ops::machine_epsilon(dtype) : eps.number();
  const Operand mean =
      context.reduce("ReduceMean", context.emit("Mul", {x, x}), normalized_axes(node));
  const Operand root =
      context.emit("Sqrt", {context.emit("Add", {mean, context.number(small, dtype)})});
  Operand result = context.emit("Mul", {x, context.emit("Reciprocal", {root})});
  const Operand weight = context.optional_operand(node.argument("weight"), dtype);
  if (weight.id >= 0) result = context.emit("Mul", {result, weight});
  context.define(node.result(), result);
}

constexpr LoweringRow kRows[] = {
    {"aten.layer_norm.default", layer_norm}, {"aten.native_layer_norm.default", native_layer_norm},
    {"aten.group_norm.default", group_norm}, {"aten.batch_norm.default", batch_norm},
    {"aten.rms_norm.default", rms_norm},
};

}  // namespace

std::span<const LoweringRow> norms_lowerings() { return kRows; }

}  // namespace unfuse::onnx
