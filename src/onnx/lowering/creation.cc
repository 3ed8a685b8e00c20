// Tensors out of nothing.
#include "onnx/lowering/families.h"

namespace unfuse::onnx {
namespace {

void full(const Node& node, LoweringContext& context) {
  const Operand value = context.operand(node.argument("fill_value"), node.result()->dtype());
  context.define(node.result(), context.expand(value, {}, node.result()->sizes()));
}

bool is_whole(const Argument& argument) { return !argument.holds<double>(); }

/// start + i * step: in float64 for floating results, as PyTorch counts.
void arange(const Node& node, LoweringContext& context) {
  const Argument& start = node.argument("start");
  const Argument& step = node.argument("step");
  const bool is_integer = is_whole(start) && is_whole(step);
  const DType dtype = is_integer ? DType::kInt64 : DType::kFloat64;
  Operand values = context.convert(context.range(node.result()->size(0)), dtype);
  values = context.emit("Mul", {values, context.operand(step, dtype)});
  values = context.emit("Add", {values, context.operand(start, dtype)});
  context.define(node.result(), values);
}

/// bool [n, m].
Operand diagonal(LoweringContext& context, const std::vector<Dim>& sizes) {
  const Operand rows = context.unsqueeze(context.range(sizes[0]), {1});
  const Operand columns = context.unsqueeze(context.range(sizes[1]), {0});
  return context.emit("Equal", {rows, columns}, DType::kBool);
}

void eye(const Node& node, LoweringContext& context) {
  context.define(node.result(), diagonal(context, node.result()->sizes()));
}

template <bool kUpper>
void triangle(const Node& node, LoweringContext& context) {
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const Operand x = context.operand(node.argument(0), dtype);
  const Operand offset = context.scalar_size(node.argument("diagonal").dim());
  context.define(node.result(),
                 context.emit("Trilu", {x, offset}, {{"upper", std::int64_t{kUpper ? 1 : 0}}}));
}

constexpr LoweringRow kRows[] = {
    {"aten.full.default", full},
    {"aten.arange.start_step", arange},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye},
    {"aten.tril.default", triangle<false>},
    {"aten.triu.default", triangle<true>},
};

}  // namespace

std::span<const LoweringRow> creation_lowerings() { return kRows; }

}  // namespace unfuse::onnx
