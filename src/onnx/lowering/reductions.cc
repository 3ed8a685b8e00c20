// Reductions.
#include <limits>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

constexpr OpName kSum{"ReduceSum"}, kMean{"ReduceMean"}, kLargest{"ReduceMax"},
    kSmallest{"ReduceMin"}, kProduct{"ReduceProd"}, kArgMax{"ArgMax"}, kArgMin{"ArgMin"};

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

/// Sums and products are taken in the result's dtype, or a wider one.
template <const OpName& kOp>
void accumulate(const Node& node, LoweringContext& context) {
  const DType result = node.result()->dtype();
  const Operand typed = context.operand(node.argument(0), result);
  const Operand x = context.convert(typed, wide_dtype(result));
  context.define(node.result(), context.reduce(kOp.text, x, axes_of(node), keeps(node)));
}

void product_of_all(const Node& node, LoweringContext& context) {
  const DType result = node.result()->dtype();
  const Operand typed = context.operand(node.argument(0), result);
  const Operand x = context.convert(typed, wide_dtype(result));
  const auto axes = passes::all_dimensions(node.input(0)->rank());
  context.define(node.result(), context.reduce("ReduceProd", x, axes, false));
}

/// NaN where there is one, as in PyTorch: ONNX leaves open what the extremes of NaN are.
template <const OpName& kOp>
void extremum(const Node& node, LoweringContext& context) {
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const Operand x = context.operand(node.argument(0), dtype);
  context.define(node.result(), context.reduce(kOp.text, x, axes_of(node), keeps(node)));
}

template <const OpName& kOp>
void arg_extremum(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const DType dtype = arithmetic_dtype(self->dtype());
  Operand x = context.operand(node.argument(0), dtype);
  const Argument& dim = node.argument("dim");
  const bool is_flat = dim.is_none() || self->rank() == 0;
  std::int64_t axis = 0;
  if (is_flat) {
    x = context.reshape(x, self->sizes(), {self->tensor().numel()});
  } else {
    axis = passes::wrap_dimension(dim.integer(), self->rank());
  }
  const std::int64_t keep = !is_flat && keeps(node) ? 1 : 0;
  Operand result = context.emit(kOp.text, {x}, DType::kInt64, {{"axis", axis}, {"keepdims", keep}});
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
  Dim count = 1;
  for (const std::int64_t axis : axes) count *= self->size(axis);
  const Argument& correction = node.argument("correction");
  const double less = correction.is_none() ? 1 : correction.number();
  const Operand zero = context.number(0.0, dtype);
  const Operand total = context.operand(Argument(count), dtype);
  const Operand freedom =
      context.emit("Max", {context.emit("Sub", {total, context.number(less, dtype)}), zero});
  context.define(node.result(), context.emit("Div", {sum, freedom}));
}

constexpr LoweringRow kRows[] = {
    {"aten.sum.dim_IntList", accumulate<kSum>},
    {"aten.mean.dim", accumulate<kMean>},
    {"aten.amax.default", extremum<kLargest>},
    {"aten.amin.default", extremum<kSmallest>},
    {"aten.argmax.default", arg_extremum<kArgMax>},
    {"aten.argmin.default", arg_extremum<kArgMin>},
    {"aten.any.dims", any},
    {"aten.all.dims", all},
    {"aten.prod.dim_int", accumulate<kProduct>},
    {"aten.prod.default", product_of_all},
    {"aten.var.correction", variance},
};

}  // namespace

std::span<const LoweringRow> reductions_lowerings() { return kRows; }

}  // namespace unfuse::onnx
