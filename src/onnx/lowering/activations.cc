// Activation functions. What ONNX has no op for is spelled out, in float32 at least.
#include <cmath>
#include <numbers>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"

namespace unfuse::onnx {
namespace {

/// The operand, in what several steps are computed in.
Operand wide_self(const Node& node, LoweringContext& context) {
  return context.operand(node.argument(0), wide_dtype(node.result()->dtype()));
}

float number_of(const Node& node, std::string_view argument) {
  return static_cast<float>(node.argument(argument).number());
}

void gelu(const Node& node, LoweringContext& context) {
  const bool is_tanh = node.argument("approximate").string() == "tanh";
  const Operand x = wide_self(node, context);
  if (context.opset() >= 20 && x.dtype != DType::kFloat64) {
    const Attributes form = {{"approximate", std::string(is_tanh ? "tanh" : "none")}};
    return context.define(node.result(), context.emit("Gelu", {x}, form));
  }
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  Operand gate;
  if (is_tanh) {
    const Operand cube = context.emit("Mul", {context.emit("Mul", {x, x}), x});
    const Operand inner = context.emit("Add", {x, context.emit("Mul", {cube, number(0.044715)})});
    const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    gate = context.emit("Tanh", {context.emit("Mul", {inner, number(factor)})});
  } else {
    gate = erf(context, context.emit("Div", {x, number(std::numbers::sqrt2)}));
  }
  const Operand doubled = context.emit("Mul", {x, context.emit("Add", {gate, number(1.0)})});
  context.define(node.result(), context.emit("Mul", {doubled, number(0.5)}));
}

void silu(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  context.define(node.result(), context.emit("Mul", {x, context.emit("Sigmoid", {x})}));
}

/// ONNX's Elu, of alpha 1, which ONNX Runtime has no float64 of.
Operand unit_elu(LoweringContext& context, Operand x) {
  if (x.dtype != DType::kFloat64) return context.emit("Elu", {x}, {{"alpha", 1.0F}});
  const Operand zero = context.number(0.0, x.dtype);
  const Operand curve = expm1(context, context.emit("Min", {x, zero}));
  return context.where(context.emit("Greater", {x, zero}, DType::kBool), x, curve);
}

/// x * scale where x > 0, else (exp(x * input_scale) - 1) * alpha * scale.
void elu_like(const Node& node, LoweringContext& context, double alpha, double scale,
              double input_scale) {
  const Operand x = wide_self(node, context);
  if (scale == 1 && input_scale == 1 && x.dtype != DType::kFloat64) {
    return context.define(node.result(),
                          context.emit("Elu", {x}, {{"alpha", static_cast<float>(alpha)}}));
  }
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  // Elu of what is below zero only: the other branch must not overflow.
  const Operand below = context.emit("Min", {x, number(0.0)});
  const Operand scaled = context.emit("Mul", {below, number(input_scale)});
  const Operand curve = unit_elu(context, scaled);
  const Operand negative = context.emit("Mul", {curve, number(alpha * scale)});
  const Operand positive = context.emit("Mul", {x, number(scale)});
  const Operand is_positive = context.emit("Greater", {x, number(0.0)}, DType::kBool);
  context.define(node.result(), context.where(is_positive, positive, negative));
}

void elu(const Node& node, LoweringContext& context) {
  elu_like(node, context, node.argument("alpha").number(), node.argument("scale").number(),
           node.argument("input_scale").number());
}

void selu(const Node& node, LoweringContext& context) {
  elu_like(node, context, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

void celu(const Node& node, LoweringContext& context) {
  const double alpha = node.argument("alpha").number();
  elu_like(node, context, alpha, 1, 1 / alpha);
}

/// x where it is positive, and a multiple of it elsewhere.
Operand bent(LoweringContext& context, Operand x, Operand slope) {
  const Operand positive = context.emit("Greater", {x, context.number(0.0, x.dtype)}, DType::kBool);
  return context.where(positive, x, context.emit("Mul", {x, slope}));
}

void leaky_relu(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  if (x.dtype == DType::kFloat64) {
    const Operand slope = context.operand(node.argument("negative_slope"), x.dtype);
    return context.define(node.result(), bent(context, x, slope));
  }
  const Attributes slope = {{"alpha", number_of(node, "negative_slope")}};
  context.define(node.result(), context.emit("LeakyRelu", {x}, slope));
}

/// x / 6 + 1 / 2 between 0 and 1. ONNX Runtime has no HardSigmoid in float64.
Operand hard_gate(LoweringContext& context, Operand x) {
  if (x.dtype != DType::kFloat64) {
    return context.emit("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
  }
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  const Operand line = context.emit("Add", {context.emit("Div", {x, number(6.0)}), number(0.5)});
  return context.emit("Min", {context.emit("Max", {line, number(0.0)}), number(1.0)});
}

void hardsigmoid(const Node& node, LoweringContext& context) {
  context.define(node.result(), hard_gate(context, wide_self(node, context)));
}

void hardswish(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  context.define(node.result(), x.dtype == DType::kFloat64
                                    ? context.emit("Mul", {x, hard_gate(context, x)})
                                    : context.emit("HardSwish", {x}));
}

/// log(1 + exp(x)) for any x: ONNX defines Softplus by this formula, which overflows.
Operand softplus_of(LoweringContext& context, Operand x) {
  const Operand size = context.emit("Neg", {context.emit("Abs", {x})});
  const Operand tail = log1p(context, context.emit("Exp", {size}));
  return context.emit("Add", {context.emit("Relu", {x}), tail});
}

void softplus(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  const double beta = node.argument("beta").number();
  const auto number = [&](double value) { return context.number(value, x.dtype); };
  const Operand scaled = beta == 1 ? x : context.emit("Mul", {x, number(beta)});
  Operand curve = softplus_of(context, scaled);
  if (beta != 1) curve = context.emit("Div", {curve, number(beta)});
  const Operand is_linear =
      context.emit("Greater", {scaled, number(node.argument("threshold").number())}, DType::kBool);
  context.define(node.result(), context.where(is_linear, x, curve));
}

void mish(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  const Operand gate = context.emit("Tanh", {softplus_of(context, x)});
  context.define(node.result(), context.emit("Mul", {x, gate}));
}

void log_sigmoid(const Node& node, LoweringContext& context) {
  const Operand negative = context.emit("Neg", {wide_self(node, context)});
  context.define(node.result(), context.emit("Neg", {softplus_of(context, negative)}));
}

/// x where x > threshold (NaN included), else value.
void threshold(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  const Operand limit = context.operand(node.argument("threshold"), x.dtype);
  const Operand below = context.emit("LessOrEqual", {x, limit}, DType::kBool);
  const Operand value = context.operand(node.argument("value"), x.dtype);
  context.define(node.result(), context.where(below, value, x));
}

/// 0 where |x| <= lambd, else x, moved towards 0 by lambd when `moves`.
void shrink(const Node& node, LoweringContext& context, bool moves) {
  const Operand x = wide_self(node, context);
  const Operand limit = context.operand(node.argument("lambd"), x.dtype);
  const Operand is_small =
      context.emit("LessOrEqual", {context.emit("Abs", {x}), limit}, DType::kBool);
  Operand kept = x;
  if (moves) {
    const Operand step = context.emit("Mul", {context.emit("Sign", {x}), limit});
    kept = context.emit("Sub", {x, step});
  }
  context.define(node.result(), context.where(is_small, context.number(0.0, x.dtype), kept));
}

void hardshrink(const Node& node, LoweringContext& context) { shrink(node, context, false); }
void softshrink(const Node& node, LoweringContext& context) { shrink(node, context, true); }

void prelu_kernel(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  context.define(node.result(), bent(context, x, context.operand(node.argument(1), x.dtype)));
}

/// The weight has one element, or one a channel.
void prelu(const Node& node, LoweringContext& context) {
  const Operand x = wide_self(node, context);
  const Value* weight = node.input(1);
  Operand slope = context.operand(node.argument(1), x.dtype);
  const std::int64_t rank = node.result()->rank();
  std::vector<Dim> sizes(static_cast<std::size_t>(std::max<std::int64_t>(rank - 1, 0)), Dim(1));
  if (!sizes.empty()) sizes.front() = weight->tensor().numel();
  slope = context.reshape(slope, weight->sizes(), sizes);
  context.define(node.result(), bent(context, x, slope));
}

constexpr LoweringRow kRows[] = {
    {"aten.relu.default", unary<kRelu>},
    {"aten.gelu.default", gelu},
    {"aten.silu.default", silu},
    {"aten.elu.default", elu},
    {"aten.selu.default", selu},
    {"aten.celu.default", celu},
    {"aten.leaky_relu.default", leaky_relu},
    {"aten.hardswish.default", hardswish},
    {"aten.hardsigmoid.default", hardsigmoid},
    {"aten.sigmoid.default", unary<kSigmoid>},
    {"aten.tanh.default", unary<kTanh>},
    {"aten.softplus.default", softplus},
    {"aten.mish.default", mish},
    {"aten.threshold.default", threshold},
    {"aten.log_sigmoid.default", log_sigmoid},
    {"aten.hardshrink.default", hardshrink},
    {"aten.softshrink.default", softshrink},
    {"aten._prelu_kernel.default", prelu_kernel},
    {"aten.prelu.default", prelu},
};

}  // namespace

std::span<const LoweringRow> activations_lowerings() { return kRows; }

}  // namespace unfuse::onnx
