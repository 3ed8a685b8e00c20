// What lowerings of pointwise ops share.
#pragma once

#include "onnx/lowering/context.h"

namespace unfuse::onnx {

/// An op of ONNX as a template argument.
struct OpName {
  char text[20];
};
inline constexpr OpName kRelu{"Relu"};
inline constexpr OpName kSigmoid{"Sigmoid"};
inline constexpr OpName kTanh{"Tanh"};

/// An op of one operand, which ONNX has too, computed in the result's dtype.
template <const OpName& kOp>
void unary(const Node& node, LoweringContext& context) {
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  context.define(node.result(), context.emit(kOp.text, {context.operand(node.argument(0), dtype)}));
}

/// log(1 + x), true to the last digits for small x; float32 or float64.
Operand log1p(LoweringContext& context, Operand x);
/// exp(x) - 1, likewise.
Operand expm1(LoweringContext& context, Operand x);
/// The error function.
Operand erf(LoweringContext& context, Operand x);
/// Towards zero.
Operand truncate(LoweringContext& context, Operand x);
/// Whether an element is not zero; NaN is not.
Operand to_bool(LoweringContext& context, Operand x);

}  // namespace unfuse::onnx
