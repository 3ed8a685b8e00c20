// Shapes: the same elements, in other places. Where ONNX computes with none of a type, elements
// are moved as others.
#include <algorithm>
#include <limits>

#include "onnx/lowering/families.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

Operand self(const Node& node, LoweringContext& context) { return context.operand(node.input(0)); }

void identity(const Node& node, LoweringContext& context) {
  context.define(node.result(), self(node, context));
}

void reshape(const Node& node, LoweringContext& context) {
  context.define(node.result(), context.reshape(self(node, context), node.input(0)->sizes(),
                                                node.result()->sizes()));
}

void permute(const Node& node, LoweringContext& context) {
  std::vector<std::int64_t> order = node.argument("dims").integers();
  for (std::int64_t& axis : order) axis = passes::wrap_dimension(axis, node.input(0)->rank());
  context.define(node.result(), context.transpose(self(node, context), order));
}

void expand(const Node& node, LoweringContext& context) {
  context.define(node.result(), context.expand(self(node, context), node.input(0)->sizes(),
                                               node.result()->sizes()));
}

std::int64_t dimension(const Node& node, std::string_view argument = "dim") {
  return passes::wrap_dimension(node.argument(argument).integer(), node.input(0)->rank());
}

void slice(const Node& node, LoweringContext& context) {
  const std::int64_t axis = dimension(node);
  const Argument& start = node.argument("start");
  const Argument& end = node.argument("end");
  const Dim& size = node.input(0)->size(axis);
  const Dim from = start.is_none() ? Dim(0) : start.dim();
  Dim to = end.is_none() ? size : end.dim();
  // What reaches the end needs no size computed.
  if (to == size) to = std::numeric_limits<std::int64_t>::max();
  context.define(node.result(),
                 context.slice(self(node, context), axis, from, to, node.argument("step").dim()));
}

void select(const Node& node, LoweringContext& context) {
  const Operand index = context.scalar_size(node.argument("index").dim());
  context.define(node.result(),
                 context.emit("Gather", {self(node, context), index}, {{"axis", dimension(node)}}));
}

void flip(const Node& node, LoweringContext& context) {
  std::vector<std::int64_t> axes = node.argument("dims").integers();
  if (axes.empty() || node.input(0)->rank() == 0) return identity(node, context);
  for (std::int64_t& axis : axes) axis = passes::wrap_dimension(axis, node.input(0)->rank());
  const std::vector<std::int64_t> backwards(axes.size(), -1);
  const std::vector<std::int64_t> ends(axes.size(), std::numeric_limits<std::int64_t>::min());
  context.define(node.result(),
                 context.emit("Slice", {self(node, context), context.integers(backwards),
                                        context.integers(ends), context.integers(axes),
                                        context.integers(backwards)}));
}

/// The diagonal is every (n + 1)-th element of the last two dimensions, laid flat.
void diagonal(const Node& node, LoweringContext& context) {
  const Value* input = node.input(0);
  const std::int64_t first = dimension(node, "dim1");
  const std::int64_t second = dimension(node, "dim2");
  const std::int64_t offset = node.argument("offset").integer();
  std::vector<std::int64_t> order;
  std::vector<Dim> flat;
  for (std::int64_t axis = 0; axis < input->rank(); ++axis) {
    if (axis == first || axis == second) continue;
    order.push_back(axis);
    flat.push_back(input->size(axis));
  }
  const auto last = static_cast<std::int64_t>(order.size());
  order.push_back(first);
  order.push_back(second);
  const Dim& columns = input->size(second);
  std::vector<Dim> square = flat;
  square.push_back(input->size(first));
  square.push_back(columns);
  flat.push_back(input->size(first) * columns);
  const Operand moved = context.transpose(self(node, context), order);
  const Operand laid_flat = context.reshape(moved, square, flat);
  const Dim start = offset >= 0 ? Dim(offset) : columns * Dim(-offset);
  const Dim step = columns + Dim(1);
  const Dim end = start + node.result()->sizes().back() * step;
  context.define(node.result(), context.slice(laid_flat, last, start, end, step));
}

/// [windows, size]: the place of each element of each window.
Operand window_places(LoweringContext& context, const Dim& windows, std::int64_t size,
                      std::int64_t step) {
  if (const auto count = windows.constant()) {
    Tensor places = Tensor::empty(DType::kInt64, {*count, size});
    auto* place = places.data_as<std::int64_t>();
    for (std::int64_t i = 0; i < *count; ++i) {
      for (std::int64_t j = 0; j < size; ++j) *place++ = i * step + j;
    }
    return context.constant(places);
  }
  const Operand starts =
      context.emit("Mul", {context.range(windows), context.number(step, DType::kInt64)});
  return context.emit(
      "Add", {context.unsqueeze(starts, {1}), context.unsqueeze(context.range(size), {0})});
}

/// Windows, gathered; their second dimension goes to the end.
void unfold(const Node& node, LoweringContext& context) {
  const Value* input = node.input(0);
  if (input->rank() == 0) {
    if (node.argument("size").integer() != 1) refuse("it takes nothing of one number");
    return context.define(node.result(), context.unsqueeze(self(node, context), {0}));
  }
  const std::int64_t axis = dimension(node, "dimension");
  const Operand places =
      window_places(context, node.result()->size(axis), node.argument("size").integer(),
                    node.argument("step").integer());
  const Operand windows = context.emit("Gather", {self(node, context), places}, {{"axis", axis}});
  std::vector<std::int64_t> order = passes::all_dimensions(input->rank() + 1);
  std::rotate(order.begin() + axis + 1, order.begin() + axis + 2, order.end());
  context.define(node.result(), context.transpose(windows, order));
}

/// The same bits, read as another type of that width.
void bitcast(const Node& node, LoweringContext& context) {
  const DType from = node.input(0)->dtype();
  const DType to = node.result()->dtype();
  if (from == to) return identity(node, context);
  if (dtype_size(from) != dtype_size(to)) refuse("ONNX reads no bits in another width");
  if (context.opset() < 26) refuse("ONNX reads bits as another type from opset 26 on");
  context.define(node.result(), context.emit("BitCast", {self(node, context)}, to,
                                             {{"to", std::int64_t{data_type(to)}}}));
}

constexpr LoweringRow kRows[] = {
    {"aten.clone.default", identity},  {"aten.reshape.default", reshape},
    {"aten.permute.default", permute}, {"aten.expand.default", expand},
    {"aten.slice.Tensor", slice},      {"aten.select.int", select},
    {"aten.flip.default", flip},       {"aten.diagonal.default", diagonal},
    {"aten.unfold.default", unfold},   {"aten.view.dtype", bitcast},
};

}  // namespace

std::span<const LoweringRow> views_lowerings() { return kRows; }

}  // namespace unfuse::onnx
