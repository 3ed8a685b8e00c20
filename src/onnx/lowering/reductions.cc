// Reductions.
#include <algorithm>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

constexpr OpName kLargest{"ReduceMax"}, kSmallest{"ReduceMin"}, kArgMax{"ArgMax"},
    kArgMin{"ArgMin"};

/// Ascending, counted from the front; all where none is listed.
std::vector<std::int64_t> axes_of(const Node& node) {
  const std::int64_t rank = node.input(0)->rank();
  const Argument& dim = node.argument("dim");
  if (dim.is_none()) return passes::all_dimensions(rank);
  if (rank == 0) return {};
  std::vector<std::int64_t> axes;
  if (dim.holds<Dim>()) {
    axes.push_back(dim.integer());
  } else {
    axes = dim.integers();
  }
  for (std::int64_t& axis : axes) axis = passes::wrap_dimension(axis, rank);
  return axes.empty() ? passes::all_dimensions(rank) : axes;
}

bool keeps(const Node& node) { return node.argument("keepdim").boolean(); }

/// What sums and products are taken of: the operand in the result's dtype, or a wider one, in which
/// integers wrap no earlier than they do there.
Operand summands(const Node& node, LoweringContext& context) {
  const DType result = node.result()->dtype();
  const Operand typed = context.operand(node.argument(0), result);
  return context.convert(typed, is_integer(result) ? DType::kInt64 : wide_dtype(result));
}

/// Sums of int64 in halves, whose sums are exact in float64: ONNX Runtime adds integers in that.
Operand sum_of_int64(LoweringContext& context, Operand x, const std::vector<std::int64_t>& axes,
                     bool keep) {
  const Operand half = context.number(std::int64_t{1} << 32, DType::kInt64);
  const Operand low = context.emit("Mod", {x, half});
  const Operand high = context.emit("Div", {context.emit("Sub", {x, low}), half});
  const Operand sum = context.reduce("ReduceSum", high, axes, keep);
  return context.emit(
      "Add", {context.emit("Mul", {sum, half}), context.reduce("ReduceSum", low, axes, keep)});
}

void sum(const Node& node, LoweringContext& context) {
  const std::vector<std::int64_t> axes = axes_of(node);
  const bool is_wide = node.input(0)->dtype() == DType::kInt64 &&
                       node.result()->dtype() == DType::kInt64 && !axes.empty();
  const Operand x = summands(node, context);
  context.define(node.result(), is_wide ? sum_of_int64(context, x, axes, keeps(node))
                                        : context.reduce("ReduceSum", x, axes, keeps(node)));
}

/// Integers are multiplied half by half: ONNX Runtime's ReduceProd does it in float64, which does
/// not wrap. Of unknown numbers of them that is what is left.
Operand product_along(LoweringContext& context, Operand x, std::int64_t axis, const Dim& size) {
  const auto fixed = size.constant();
  if (is_floating_point(x.dtype) || !fixed || *fixed == 0) {
    return context.reduce("ReduceProd", x, {axis});
  }
  std::int64_t left = *fixed;
  while (left > 1) {
    const std::int64_t half = left / 2;
    Operand product = context.emit(
        "Mul", {context.slice(x, axis, 0, half), context.slice(x, axis, half, 2 * half)});
    if (left % 2 == 1) {
      const Operand last = context.slice(x, axis, left - 1, left);
      product = half == 1 ? context.emit("Mul", {product, last})
                          : context.emit("Concat", {product, last}, {{"axis", axis}});
    }
    x = product;
    left = half == 1 ? 1 : half + left % 2;
  }
  return x;
}

Operand product(LoweringContext& context, const Node& node, const std::vector<std::int64_t>& axes,
                bool keep) {
  Operand result = summands(node, context);
  for (const std::int64_t axis : axes) {
    result = product_along(context, result, axis, node.input(0)->size(axis));
  }
  return keep ? result : context.squeeze(result, axes);
}

void product_along_one(const Node& node, LoweringContext& context) {
  context.define(node.result(), product(context, node, axes_of(node), keeps(node)));
}

void product_of_all(const Node& node, LoweringContext& context) {
  const auto axes = passes::all_dimensions(node.input(0)->rank());
  context.define(node.result(), product(context, node, axes, false));
}

Dim count_of(const Value* value, const std::vector<std::int64_t>& axes) {
  Dim count = 1;
  for (const std::int64_t axis : axes) count *= value->size(axis);
  return count;
}

/// NaN of nothing, as in PyTorch: ONNX leaves open what that is, so that there a sum is divided.
void mean(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const std::vector<std::int64_t> axes = axes_of(node);
  const Operand x = summands(node, context);
  const bool has_elements = std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return self->size(axis).range(context.graph().symbols).minimum > 0;
  });
  if (has_elements) {
    return context.define(node.result(), context.reduce("ReduceMean", x, axes, keeps(node)));
  }
  const Operand sum = context.reduce("ReduceSum", x, axes, keeps(node));
  const Operand count = context.operand(Argument(count_of(self, axes)), x.dtype);
  context.define(node.result(), context.emit("Div", {sum, count}));
}

/// NaN where there is one, as in PyTorch: ONNX leaves open what the extremes of NaN are. The sum of
/// absolute values is NaN for NaN and for nothing else.
template <const OpName& kOp>
void extremum(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  const std::vector<std::int64_t> axes = axes_of(node);
  const Operand x = context.operand(node.argument(0), dtype);
  Operand result = context.reduce(kOp.text, x, axes, keeps(node));
  if (is_floating_point(dtype) && !axes.empty()) {
    const Operand sum = context.reduce("ReduceSum", context.emit("Abs", {x}), axes, keeps(node));
    result = context.where(context.emit("IsNaN", {sum}, DType::kBool), sum, result);
  }
  context.define(node.result(), result);
}

/// The first NaN where there is one, and the first extremum elsewhere.
template <const OpName& kOp>
Operand place_of_extremum(LoweringContext& context, Operand x, std::int64_t axis, bool keep) {
  const Attributes attributes = {{"axis", axis}, {"keepdims", std::int64_t{keep}}};
  const Operand extremum = context.emit(kOp.text, {x}, DType::kInt64, attributes);
  if (!is_floating_point(x.dtype)) return extremum;
  const Operand is_nan = context.convert(context.emit("IsNaN", {x}, DType::kBool), DType::kInt32);
  const Operand any =
      context.convert(context.reduce("ReduceMax", is_nan, {axis}, keep), DType::kBool);
  return context.where(any, context.emit("ArgMax", {is_nan}, DType::kInt64, attributes), extremum);
}

template <const OpName& kOp>
void arg_extremum(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  Operand x = context.operand(node.argument(0), wide_dtype(self->dtype()));
  const Argument& dim = node.argument("dim");
  const bool is_flat = dim.is_none() || self->rank() == 0;
  std::int64_t axis = 0;
  if (is_flat) {
    x = context.reshape(x, self->sizes(), {self->tensor().numel()});
  } else {
    axis = passes::wrap_dimension(dim.integer(), self->rank());
  }
  Operand result = place_of_extremum<kOp>(context, x, axis, !is_flat && keeps(node));
  if (is_flat) result = context.reshape(result, {}, node.result()->sizes());
  context.define(node.result(), result);
}

/// How many elements are true is counted: a maximum of nothing would be undefined.
Operand any_of(LoweringContext& context, Operand flags, const std::vector<std::int64_t>& axes,
               bool keep) {
  const Operand count =
      context.reduce("ReduceSum", context.convert(flags, DType::kInt32), axes, keep);
  return context.convert(count, DType::kBool);
}

void any(const Node& node, LoweringContext& context) {
  const Operand flags = to_bool(context, context.operand(node.input(0)));
  context.define(node.result(), any_of(context, flags, axes_of(node), keeps(node)));
}

void all(const Node& node, LoweringContext& context) {
  const Operand flags = to_bool(context, context.operand(node.input(0)));
  const Operand fails = context.emit("Not", {flags});
  context.define(node.result(),
                 context.emit("Not", {any_of(context, fails, axes_of(node), keeps(node))}));
}

void variance(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const DType dtype = wide_dtype(node.result()->dtype());
  const std::vector<std::int64_t> axes = axes_of(node);
  const Operand x = context.operand(node.argument(0), dtype);
  const Operand distance = context.emit("Sub", {x, context.reduce("ReduceMean", x, axes)});
  const Operand squares = context.emit("Mul", {distance, distance});
  const Operand sum = context.reduce("ReduceSum", squares, axes, keeps(node));
  const Argument& correction = node.argument("correction");
  const double less = correction.is_none() ? 1 : correction.number();
  const Operand zero = context.number(0.0, dtype);
  const Operand total = context.operand(Argument(count_of(self, axes)), dtype);
  const Operand freedom =
      context.emit("Max", {context.emit("Sub", {total, context.number(less, dtype)}), zero});
  context.define(node.result(), context.emit("Div", {sum, freedom}));
}

constexpr LoweringRow kRows[] = {
    {"aten.sum.dim_IntList", sum},
    {"aten.mean.dim", mean},
    {"aten.amax.default", extremum<kLargest>},
    {"aten.amin.default", extremum<kSmallest>},
    {"aten.argmax.default", arg_extremum<kArgMax>},
    {"aten.argmin.default", arg_extremum<kArgMin>},
    {"aten.any.dims", any},
    {"aten.all.dims", all},
    {"aten.prod.dim_int", product_along_one},
    {"aten.prod.default", product_of_all},
    {"aten.var.correction", variance},
};

}  // namespace

std::span<const LoweringRow> reductions_lowerings() { return kRows; }

}  // namespace unfuse::onnx
