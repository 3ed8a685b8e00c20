// Ops that move elements: conversions, concatenation, padding, repeating, writing into a part.
#include <algorithm>

#include "targets/cpu/kernels/fill.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/scalars.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

/// All conversions; the device is the CPU or the node would have been refused.
void lower_convert(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  if (view.dtype() == node.result()->dtype()) {
    context.alias(node.result(), view);
    return;
  }
  context.copy(view, context.result(node.result()));
}

/// aten.copy: the second operand in the shape and dtype of the first.
void lower_copy(const Node& node, LoweringContext& context) {
  context.copy(context.view(node.input(1)), context.result(node.result()));
}

/// A legacy empty tensor of one dimension joins tensors of any rank.
bool is_skipped(const View& view, std::int64_t rank) {
  return view.rank() == 1 && rank != 1 && view.numel() == 0;
}

void lower_cat(const Node& node, LoweringContext& context) {
  const View to = context.result(node.result());
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), to.rank());
  std::int64_t start = 0;
  for (const Value* value : node.argument("tensors").tensors()) {
    const View& from = context.view(value);
    if (is_skipped(from, to.rank())) continue;
    const std::int64_t length = from.size(dimension);
    context.copy(from, sliced(to, dimension, start, length));
    start += length;
  }
  if (start != to.size(dimension)) {
    throw Error(ErrorKind::kInvalidArgument, "the operands' sizes do not add up to the result's");
  }
}

void lower_stack(const Node& node, LoweringContext& context) {
  const View to = context.result(node.result());
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), to.rank());
  std::int64_t index = 0;
  for (const Value* value : node.argument("tensors").tensors()) {
    context.copy(context.view(value), selected(to, dimension, index));
    ++index;
  }
}

/// The result is seen as [repeats, size] in each dimension, the operand broadcast over the former.
void lower_repeat(const Node& node, LoweringContext& context) {
  const View to = context.contiguous_result(node.result());
  View from = context.view(node.input(0));
  while (from.rank() < to.rank()) from = unsqueezed(from, 0);
  Sizes sizes;
  for (std::int64_t i = 0; i < to.rank(); ++i) {
    const std::int64_t size = from.size(2 * i);
    sizes.push_back(size == 0 ? 0 : to.size(i) / size);
    sizes.push_back(size);
    from = unsqueezed(from, 2 * i);
  }
  View split = to;
  split.spec = OperandSpec::contiguous(to.dtype(), sizes);
  context.copy(from, split);
}

void lower_flip(const Node& node, LoweringContext& context) {
  View from = context.view(node.input(0));
  for (const std::int64_t given : node.argument("dims").integers()) {
    const std::int64_t dimension = wrapped(given, from.rank());
    if (from.rank() == 0 || from.size(dimension) == 0) continue;
    from.offset += (from.size(dimension) - 1) * from.stride(dimension);
    from.spec.strides[static_cast<std::size_t>(dimension)] *= -1;
  }
  context.copy(from, context.result(node.result()));
}

Refusal accept_roll(const Node& node) {
  if (!node.argument("dims").dims().empty()) return std::nullopt;
  return "rolling over all dimensions at once is not supported";
}

/// Each rolled dimension is cut in two; the parts change places.
void lower_roll(const Node& node, LoweringContext& context) {
  std::vector<std::pair<View, View>> parts;
  parts.emplace_back(context.view(node.input(0)), context.result(node.result()));
  const std::vector<std::int64_t> dimensions = node.argument("dims").integers();
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::int64_t dimension = wrapped(dimensions[i], parts[0].first.rank());
    const std::int64_t size = parts[0].first.size(dimension);
    if (size == 0) continue;
    const std::int64_t given = context.evaluate(node.argument("shifts").dims().at(i));
    const std::int64_t shift = ((given % size) + size) % size;
    std::vector<std::pair<View, View>> cut;
    for (const auto& [from, to] : parts) {
      cut.emplace_back(sliced(from, dimension, 0, size - shift),
                       sliced(to, dimension, shift, size - shift));
      if (shift == 0) continue;
      cut.emplace_back(sliced(from, dimension, size - shift, shift),
                       sliced(to, dimension, 0, shift));
    }
    parts = std::move(cut);
  }
  for (const auto& [from, to] : parts) context.copy(from, to);
}

void fill(LoweringContext& context, const View& to, const Scalar& value) {
  context.emit(select_fill({to.spec, value, context.threads()}), {}, {to});
}

Refusal accept_pad(const Node& node) {
  const std::string& mode = node.argument("mode").string();
  if (mode == "constant") return std::nullopt;
  return "padding in mode '" + mode + "' is not supported";
}

/// Pairs (before, after) from the last dimension on; negative padding cuts.
void lower_constant_pad(const Node& node, LoweringContext& context) {
  View from = context.view(node.input(0));
  const View to = context.result(node.result());
  View inner = to;
  const Sizes padding = context.evaluate(node.argument("pad").dims());
  for (std::size_t i = 0; 2 * i + 1 < padding.size(); ++i) {
    const std::int64_t dimension = to.rank() - 1 - static_cast<std::int64_t>(i);
    const std::int64_t before = padding[2 * i];
    const std::int64_t after = padding[2 * i + 1];
    const std::int64_t kept =
        from.size(dimension) + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0);
    from = sliced(from, dimension, std::max<std::int64_t>(-before, 0), kept);
    inner = sliced(inner, dimension, std::max<std::int64_t>(before, 0), kept);
  }
  const Argument& value = node.argument("value");
  fill(context, to, value.is_none() ? Scalar::integer(0) : scalar(value, context));
  context.copy(from, inner);
}

void lower_slice_scatter(const Node& node, LoweringContext& context) {
  const View to = context.result(node.result());
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), to.rank());
  const std::int64_t size = to.size(dimension);
  const std::int64_t step = context.evaluate(node.argument("step").dim());
  if (step < 1) throw Error(ErrorKind::kInvalidArgument, "a step must be positive");
  const auto bound = [&](std::string_view name, std::int64_t otherwise) {
    const Argument& argument = node.argument(name);
    if (argument.is_none()) return otherwise;
    const std::int64_t given = context.evaluate(argument.dim());
    return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = bound("end", size);
  const std::int64_t length = end <= start ? 0 : (end - start + step - 1) / step;
  context.copy(context.view(node.input(0)), to);
  context.copy(context.view(node.input(1)), sliced(to, dimension, start, length, step));
}

void lower_select_scatter(const Node& node, LoweringContext& context) {
  const View to = context.result(node.result());
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), to.rank());
  const std::int64_t given = context.evaluate(node.argument("index").dim());
  const std::int64_t index = given < 0 ? given + to.size(dimension) : given;
  context.copy(context.view(node.input(0)), to);
  context.copy(context.view(node.input(1)), selected(to, dimension, index));
}

constexpr LoweringRow kRows[] = {
    {"aten._to_copy.default", accept_all, lower_convert},
    {"aten.to.dtype", accept_all, lower_convert},
    {"aten.to.device", accept_all, lower_convert},
    {"aten.to.dtype_layout", accept_all, lower_convert},
    {"aten.to.other", accept_all, lower_convert},
    {"aten.type_as.default", accept_all, lower_convert},
    {"aten.copy.default", accept_all, lower_copy},
    {"aten.cat.default", accept_all, lower_cat},
    {"aten.concat.default", accept_all, lower_cat},
    {"aten.concatenate.default", accept_all, lower_cat},
    {"aten.stack.default", accept_all, lower_stack},
    {"aten.repeat.default", accept_all, lower_repeat},
    {"aten.tile.default", accept_all, lower_repeat},
    {"aten.flip.default", accept_all, lower_flip},
    {"aten.roll.default", accept_roll, lower_roll},
    {"aten.pad.default", accept_pad, lower_constant_pad},
    {"aten.constant_pad_nd.default", accept_all, lower_constant_pad},
    {"aten.slice_scatter.default", accept_all, lower_slice_scatter},
    {"aten.select_scatter.default", accept_all, lower_select_scatter},
};

}  // namespace

std::span<const LoweringRow> copies_lowerings() { return kRows; }

}  // namespace unfuse::cpu
