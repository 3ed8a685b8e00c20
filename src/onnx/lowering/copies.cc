// Copies: conversions, and tensors put together.
#include "onnx/lowering/families.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

void convert(const Node& node, LoweringContext& context) {
  context.define(node.result(), context.operand(node.argument(0), node.result()->dtype()));
}

void cat(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  const std::int64_t rank = node.result()->rank();
  std::vector<Operand> parts;
  for (const Value* part : node.argument("tensors").tensors()) {
    // An empty tensor of one dimension goes with any others.
    if (part->rank() != rank) continue;
    parts.push_back(context.operand(part, dtype));
  }
  if (parts.size() == 1) return context.define(node.result(), parts.front());
  const std::int64_t axis = passes::wrap_dimension(node.argument("dim").integer(), rank);
  context.define(node.result(), context.emit("Concat", parts, {{"axis", axis}}));
}

/// PyTorch's pairs are for the last dimension first, ONNX's list has all starts, then all ends.
void constant_pad(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  const auto& pairs = node.argument("pad").dims();
  const auto rank = static_cast<std::size_t>(node.result()->rank());
  std::vector<Dim> pads(2 * rank, Dim(0));
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    pads[rank - 1 - i] = pairs[2 * i];
    pads[2 * rank - 1 - i] = pairs[2 * i + 1];
  }
  const DType computed = arithmetic_dtype(dtype);
  const Operand x = context.operand(node.argument(0), computed);
  const Operand value = context.convert(context.operand(node.argument("value"), dtype), computed);
  context.define(node.result(), context.emit("Pad", {x, context.sizes(pads), value}));
}

void slice_scatter(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const DType dtype = node.result()->dtype();
  const std::int64_t axis = passes::wrap_dimension(node.argument("dim").integer(), self->rank());
  const Value* source = node.argument("src").value();
  const Argument& start = node.argument("start");
  const Dim first = start.is_none() ? Dim(0) : start.dim();
  const Operand steps = context.emit(
      "Mul", {context.range(source->size(axis)), context.scalar_size(node.argument("step").dim())});
  const Operand places = context.emit("Add", {steps, context.scalar_size(first)});
  // Scattered along the first dimension, which the sliced one is put in place of.
  const std::vector<std::int64_t> order = passes::swapped_order(self->rank(), 0, axis);
  const Operand into = context.transpose(context.operand(node.argument(0), dtype), order);
  const Operand from = context.transpose(context.operand(node.argument("src"), dtype), order);
  const Operand scattered = context.emit("ScatterND", {into, context.unsqueeze(places, {1}), from});
  context.define(node.result(), context.transpose(scattered, order));
}

constexpr LoweringRow kRows[] = {
    {"aten._to_copy.default", convert},
    {"aten.cat.default", cat},
    {"aten.constant_pad_nd.default", constant_pad},
    {"aten.slice_scatter.default", slice_scatter},
};

}  // namespace

std::span<const LoweringRow> copies_lowerings() { return kRows; }

}  // namespace unfuse::onnx
