// Pointwise ops that are not core: choices by a condition, activations, forms with numbers.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

Value* operand(Builder& builder, const Argument& argument, DType dtype) {
  return argument.is_value() ? argument.value() : scalar(builder, argument, dtype);
}

// Either side may be a number.
Replacement where(RewriteContext& at, const Node& node) {
  const DType dtype = node.result()->dtype();
  return replace_by(call(at.builder, "aten.where.self",
                         {node.input(0), operand(at.builder, node.argument(1), dtype),
                          operand(at.builder, node.argument(2), dtype)}));
}

Replacement masked_fill(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  Value* fill = operand(at.builder, node.argument(2), self->dtype());
  return replace_by(call(at.builder, "aten.where.self", {node.input(1), fill, self}));
}

// number - alpha * self
Replacement rsub_scalar(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* scaled = node.input(0);
  const Argument& alpha = node.argument("alpha");
  if (alpha.number() != 1) scaled = call(builder, "aten.mul.Scalar", {scaled, alpha});
  Value* negative = call(builder, "aten.neg.default", {scaled});
  return replace_by(call(builder, "aten.add.Scalar", {negative, node.argument(1)}));
}

Replacement floor_divide(RewriteContext& at, const Node& node) {
  const char* op = node.argument(1).is_value() ? "aten.div.Tensor_mode" : "aten.div.Scalar_mode";
  return replace_by(
      call(at.builder, op, {node.input(0), node.argument(1)}, {{"rounding_mode", "floor"}}));
}

// all(x) is not any(not x).
Replacement all(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* lacks = call(builder, "aten.logical_not.default", {node.input(0)});
  Value* some = call(builder, "aten.any.dims", {lacks, node.argument(1), node.argument(2)});
  return replace_by(call(builder, "aten.logical_not.default", {some}));
}

// Functions of one tensor, computed as PyTorch's kernels do: wide inside.
template <Value* (*Function)(Builder&, const Node&, Value*)>
Replacement activation(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  const DType dtype = node.result()->dtype();
  Value* x = convert(builder, node.input(0), computed_in(dtype));
  return replace_by(convert(builder, Function(builder, node, x), dtype));
}

Value* silu(Builder& builder, const Node&, Value* x) {
  return call(builder, "aten.mul.Tensor", {x, call(builder, "aten.sigmoid.default", {x})});
}

// clamp(x + 3, 0, 6)
Value* six_wide(Builder& builder, Value* x) {
  return call(builder, "aten.clamp.default",
              {call(builder, "aten.add.Scalar", {x, 3.0}), 0.0, 6.0});
}

Value* hardsigmoid(Builder& builder, const Node&, Value* x) {
  return call(builder, "aten.div.Scalar", {six_wide(builder, x), 6.0});
}

Value* hardswish(Builder& builder, const Node&, Value* x) {
  Value* product = call(builder, "aten.mul.Tensor", {x, six_wide(builder, x)});
  return call(builder, "aten.div.Scalar", {product, 6.0});
}

Value* softplus_of(Builder& builder, Value* x, double beta, double threshold) {
  Value* scaled = beta == 1 ? x : call(builder, "aten.mul.Scalar", {x, beta});
  Value* soft = call(builder, "aten.log1p.default", {call(builder, "aten.exp.default", {scaled})});
  if (beta != 1) soft = call(builder, "aten.div.Scalar", {soft, beta});
  return call(builder, "aten.where.self",
              {call(builder, "aten.gt.Scalar", {scaled, threshold}), x, soft});
}

Value* softplus(Builder& builder, const Node& node, Value* x) {
  return softplus_of(builder, x, node.argument("beta").number(),
                     node.argument("threshold").number());
}

Value* mish(Builder& builder, const Node&, Value* x) {
  Value* soft = softplus_of(builder, x, 1, 20);
  return call(builder, "aten.mul.Tensor", {x, call(builder, "aten.tanh.default", {soft})});
}

// min(0, x) - log1p(exp(-|x|))
Value* log_sigmoid(Builder& builder, const Node&, Value* x) {
  Value* least = call(builder, "aten.clamp.default", {x, Argument(), 0.0});
  Value* size = call(builder, "aten.abs.default", {x});
  Value* soft =
      call(builder, "aten.log1p.default",
           {call(builder, "aten.exp.default", {call(builder, "aten.neg.default", {size})})});
  return call(builder, "aten.sub.Tensor", {least, soft});
}

Value* exp2(Builder& builder, const Node&, Value* x) {
  return call(builder, "aten.pow.Scalar", {2.0, x});
}

Value* frac(Builder& builder, const Node&, Value* x) {
  return call(builder, "aten.sub.Tensor", {x, call(builder, "aten.trunc.default", {x})});
}

constexpr RewriteRow kRows[] = {
    {"aten.where.ScalarOther", where},
    {"aten.where.ScalarSelf", where},
    {"aten.where.Scalar", where},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.rsub.Scalar", rsub_scalar},
    {"aten.floor_divide.default", floor_divide},
    {"aten.floor_divide.Scalar", floor_divide},
    {"aten.all.dims", all},
    {"aten.silu.default", activation<silu>},
    {"aten.hardsigmoid.default", activation<hardsigmoid>},
    {"aten.hardswish.default", activation<hardswish>},
    {"aten.softplus.default", activation<softplus>},
    {"aten.mish.default", activation<mish>},
    {"aten.log_sigmoid.default", activation<log_sigmoid>},
    {"aten.exp2.default", activation<exp2>},
    {"aten.frac.default", activation<frac>},
};

}  // namespace

std::span<const RewriteRow> core_pointwise() { return kRows; }

}  // namespace unfuse::passes
