// Activation functions.
#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;

int self(PointwiseEmitter& emitter, const Node& node) {
  return emitter.load(node.argument(0), result_register_type(node));
}

template <Op kOp>
int unary(PointwiseEmitter& emitter, const Node& node) {
  return emitter.emit(kOp, result_register_type(node), {self(emitter, node)});
}

int gelu(PointwiseEmitter& emitter, const Node& node) {
  return node.argument("approximate").string() == "tanh" ? unary<Op::kGeluTanh>(emitter, node)
                                                         : unary<Op::kGelu>(emitter, node);
}

int elu_like(PointwiseEmitter& emitter, const Node& node, double alpha, double scale,
             double input_scale) {
  return emitter.emit(Op::kElu, result_register_type(node), {self(emitter, node)},
                      {alpha, scale, input_scale});
}

int elu(PointwiseEmitter& emitter, const Node& node) {
  return elu_like(emitter, node, emitter.number(node.argument("alpha")),
                  emitter.number(node.argument("scale")),
                  emitter.number(node.argument("input_scale")));
}

int selu(PointwiseEmitter& emitter, const Node& node) {
  return elu_like(emitter, node, 1.6732632423543772848170429916717,
                  1.0507009873554804934193349852946, 1);
}

int celu(PointwiseEmitter& emitter, const Node& node) {
  const double alpha = emitter.number(node.argument("alpha"));
  return elu_like(emitter, node, alpha, 1, 1 / alpha);
}

int leaky_relu(PointwiseEmitter& emitter, const Node& node) {
  return emitter.emit(Op::kLeakyRelu, result_register_type(node), {self(emitter, node)},
                      {emitter.number(node.argument("negative_slope"))});
}

int clamped(PointwiseEmitter& emitter, const Node& node, int minimum, int maximum) {
  const RegisterType type = result_register_type(node);
  const int raised = emitter.emit(Op::kMaximum, type, {self(emitter, node), minimum});
  return emitter.emit(Op::kMinimum, type, {raised, maximum});
}

int hardtanh(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int minimum = emitter.load(node.argument("min_val"), type);
  return clamped(emitter, node, minimum, emitter.load(node.argument("max_val"), type));
}

int relu6(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int minimum = emitter.constant(std::int64_t{0}, type);
  return clamped(emitter, node, minimum, emitter.constant(std::int64_t{6}, type));
}

int softplus(PointwiseEmitter& emitter, const Node& node) {
  return emitter.emit(
      Op::kSoftplus, result_register_type(node), {self(emitter, node)},
      {emitter.number(node.argument("beta")), emitter.number(node.argument("threshold"))});
}

/// x where x > threshold (NaN included), else value.
int threshold(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int value = self(emitter, node);
  const int limit = emitter.load(node.argument("threshold"), type);
  const int below = emitter.emit(Op::kLessEqual, type, {value, limit});
  return emitter.emit(Op::kWhere, type, {below, emitter.load(node.argument("value"), type), value});
}

/// 0 where |x| <= lambd, else x.
int hardshrink(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int value = self(emitter, node);
  const int limit = emitter.load(node.argument("lambd"), type);
  const int size = emitter.emit(Op::kAbsolute, type, {value});
  const int small = emitter.emit(Op::kLessEqual, type, {size, limit});
  return emitter.emit(Op::kWhere, type, {small, emitter.constant(0.0, type), value});
}

/// x moved towards 0 by lambd, and 0 where |x| <= lambd.
int softshrink(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int value = self(emitter, node);
  const int limit = emitter.load(node.argument("lambd"), type);
  const int size = emitter.emit(Op::kAbsolute, type, {value});
  const int small = emitter.emit(Op::kLessEqual, type, {size, limit});
  const int step =
      emitter.emit(Op::kMultiply, type, {emitter.emit(Op::kSign, type, {value}), limit});
  const int moved = emitter.emit(Op::kSubtract, type, {value, step});
  return emitter.emit(Op::kWhere, type, {small, emitter.constant(0.0, type), moved});
}

/// x where x > 0, else slope * x.
int sloped(PointwiseEmitter& emitter, const Node& node, int slope) {
  const RegisterType type = result_register_type(node);
  const int value = self(emitter, node);
  const int product = emitter.emit(Op::kMultiply, type, {slope, value});
  const int positive = emitter.emit(Op::kGreater, type, {value, emitter.constant(0.0, type)});
  return emitter.emit(Op::kWhere, type, {positive, value, product});
}

int prelu_kernel(PointwiseEmitter& emitter, const Node& node) {
  return sloped(emitter, node, emitter.load(node.argument(1), result_register_type(node)));
}

/// The weight has one element, or one a channel.
int prelu(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  return sloped(emitter, node, emitter.load_channels(node.input(1), node.result()->rank(), type));
}

constexpr PointwiseRow kRows[] = {
    {"aten.relu.default", unary<Op::kRelu>},
    {"aten.gelu.default", gelu},
    {"aten.silu.default", unary<Op::kSilu>},
    {"aten.elu.default", elu},
    {"aten.selu.default", selu},
    {"aten.celu.default", celu},
    {"aten.leaky_relu.default", leaky_relu},
    {"aten.hardswish.default", unary<Op::kHardswish>},
    {"aten.hardsigmoid.default", unary<Op::kHardsigmoid>},
    {"aten.hardtanh.default", hardtanh},
    {"aten.relu6.default", relu6},
    {"aten.sigmoid.default", unary<Op::kSigmoid>},
    {"aten.tanh.default", unary<Op::kTanh>},
    {"aten.softplus.default", softplus},
    {"aten.mish.default", unary<Op::kMish>},
    {"aten.threshold.default", threshold},
    {"aten.log_sigmoid.default", unary<Op::kLogSigmoid>},
    {"aten.hardshrink.default", hardshrink},
    {"aten.softshrink.default", softshrink},
    {"aten._prelu_kernel.default", prelu_kernel},
    {"aten.prelu.default", prelu},
};

}  // namespace

std::span<const PointwiseRow> activation_rows() { return kRows; }

}  // namespace unfuse::cpu
