// Reductions over dimensions.
#include <algorithm>
#include <numeric>
#include <vector>

#include "targets/cpu/kernels/reduce.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/pointwise_emitter.h"
#include "targets/cpu/lowering/view_algebra.h"

namespace unfuse::cpu {
namespace {

using Dimensions = std::vector<std::int64_t>;

Dimensions all_dimensions(std::int64_t rank) {
  Dimensions dimensions(static_cast<std::size_t>(rank));
  std::iota(dimensions.begin(), dimensions.end(), std::int64_t{0});
  return dimensions;
}

/// The `dim` argument: absent, None or an empty list means all.
Dimensions reduced_dimensions(const Node& node, std::int64_t rank) {
  const int index = node.op().schema.index_of("dim");
  if (index < 0 || node.argument(index).is_none()) return all_dimensions(rank);
  const Argument& argument = node.argument(index);
  Dimensions dimensions =
      argument.holds<Dim>() ? Dimensions{argument.integer()} : argument.integers();
  if (dimensions.empty() || rank == 0) return all_dimensions(rank);
  for (std::int64_t& dimension : dimensions) dimension = wrapped(dimension, rank);
  std::sort(dimensions.begin(), dimensions.end());
  dimensions.erase(std::unique(dimensions.begin(), dimensions.end()), dimensions.end());
  return dimensions;
}

/// The result with size 1 at the reduced dimensions, whether the op keeps them or not.
View with_reduced_dimensions(View to, const Dimensions& dimensions, std::int64_t rank) {
  if (to.rank() == rank) return to;
  for (const std::int64_t dimension : dimensions) to = unsqueezed(to, dimension);
  return to;
}

void emit_reduce(LoweringContext& context, const Node& node, ReduceOp op, const View& from,
                 const Value* result, const Value* indices = nullptr, double correction = 1) {
  ReduceSpec spec;
  spec.op = op;
  spec.input = from.spec;
  spec.dims = reduced_dimensions(node, from.rank());
  spec.correction = correction;
  spec.threads = context.threads();
  const auto place = [&](const Value* value) {
    return with_reduced_dimensions(context.result(value), spec.dims, from.rank());
  };
  std::vector<View> outputs = {place(result)};
  spec.output = outputs[0].spec;
  if (indices != nullptr) {
    outputs.push_back(place(indices));
    spec.indices = outputs[1].spec;
  }
  context.emit(select_reduce(spec), {from}, outputs);
}

/// sum, mean, prod take `dtype`: the operand is converted before it is reduced.
template <ReduceOp kOp>
void lower_accumulation(const Node& node, LoweringContext& context) {
  View from = context.view(node.input(0));
  const DType dtype = node.result()->dtype();
  const bool changes_kind = is_floating_point(from.dtype()) != is_floating_point(dtype);
  if (changes_kind) from = context.converted(from, dtype);
  emit_reduce(context, node, kOp, from, node.result());
}

template <ReduceOp kOp>
void lower_reduction(const Node& node, LoweringContext& context) {
  emit_reduce(context, node, kOp, context.view(node.input(0)), node.result());
}

template <ReduceOp kOp>
void lower_with_index(const Node& node, LoweringContext& context) {
  emit_reduce(context, node, kOp, context.view(node.input(0)), node.result(0), node.result(1));
}

double correction_of(const Node& node) {
  const int unbiased = node.op().schema.index_of("unbiased");
  if (unbiased >= 0) return node.argument(unbiased).boolean() ? 1 : 0;
  const Argument& correction = node.argument("correction");
  return correction.is_none() ? 1 : correction.number();
}

template <ReduceOp kOp>
void lower_variance(const Node& node, LoweringContext& context) {
  const View from = context.view(node.input(0));
  emit_reduce(context, node, kOp, from, node.result(0), nullptr, correction_of(node));
  if (node.results().size() == 2) {
    emit_reduce(context, node, ReduceOp::kMean, from, node.result(1));
  }
}

void lower_aminmax(const Node& node, LoweringContext& context) {
  const View from = context.view(node.input(0));
  emit_reduce(context, node, ReduceOp::kAmin, from, node.result(0));
  emit_reduce(context, node, ReduceOp::kAmax, from, node.result(1));
}

void lower_count_nonzero(const Node& node, LoweringContext& context) {
  const View flags = context.converted(context.view(node.input(0)), DType::kBool);
  emit_reduce(context, node, ReduceOp::kSum, flags, node.result());
}

/// m + log(sum(exp(x - m))) with m the largest element, or 0 where that is infinite.
void lower_logsumexp(const Node& node, LoweringContext& context) {
  using Op = PointwiseOp;
  const RegisterType type = result_register_type(node);
  const DType dtype = node.result()->dtype();
  const View from = context.converted(context.view(node.input(0)), dtype);
  const Dimensions dimensions = reduced_dimensions(node, from.rank());
  Sizes kept = from.sizes();
  for (const std::int64_t dimension : dimensions) kept[static_cast<std::size_t>(dimension)] = 1;
  const auto reduce = [&](ReduceOp op, const View& of) {
    View to = context.temporary(dtype, kept);
    ReduceSpec spec;
    spec.op = op;
    spec.input = of.spec;
    spec.dims = dimensions;
    spec.output = to.spec;
    spec.threads = context.threads();
    context.emit(select_reduce(spec), {of}, {to});
    return to;
  };
  const bool empty = from.numel() == 0;
  const View largest = empty ? context.temporary(dtype, kept) : reduce(ReduceOp::kAmax, from);
  const auto shift = [&](PointwiseEmitter& emitter) {
    if (empty) return emitter.constant(0.0, type);
    const int maximum = emitter.load(largest, type);
    const int infinite = emitter.emit(Op::kIsInf, type, {maximum});
    return emitter.emit(Op::kWhere, type, {infinite, emitter.constant(0.0, type), maximum});
  };
  const View exponentials = context.temporary(dtype, from.sizes());
  PointwiseEmitter before(context);
  const int moved = before.emit(Op::kSubtract, type, {before.load(from, type), shift(before)});
  before.finish({before.emit(Op::kExp, type, {moved})}, from.sizes(), {exponentials});

  const View sum = reduce(ReduceOp::kSum, exponentials);
  const View to = with_reduced_dimensions(context.result(node.result()), dimensions, from.rank());
  PointwiseEmitter after(context);
  const int logarithm = after.emit(Op::kLog, type, {after.load(sum, type)});
  after.finish({after.emit(Op::kAdd, type, {logarithm, shift(after)})}, kept, {to});
}

constexpr LoweringRow kRows[] = {
    {"aten.sum.default", accept_all, lower_accumulation<ReduceOp::kSum>},
    {"aten.sum.dim_IntList", accept_all, lower_accumulation<ReduceOp::kSum>},
    {"aten.mean.default", accept_all, lower_accumulation<ReduceOp::kMean>},
    {"aten.mean.dim", accept_all, lower_accumulation<ReduceOp::kMean>},
    {"aten.prod.default", accept_all, lower_accumulation<ReduceOp::kProd>},
    {"aten.prod.dim_int", accept_all, lower_accumulation<ReduceOp::kProd>},
    {"aten.amax.default", accept_all, lower_reduction<ReduceOp::kAmax>},
    {"aten.amin.default", accept_all, lower_reduction<ReduceOp::kAmin>},
    {"aten.max.default", accept_all, lower_reduction<ReduceOp::kAmax>},
    {"aten.min.default", accept_all, lower_reduction<ReduceOp::kAmin>},
    {"aten.max.dim", accept_all, lower_with_index<ReduceOp::kMaxWithIndex>},
    {"aten.min.dim", accept_all, lower_with_index<ReduceOp::kMinWithIndex>},
    {"aten.any.default", accept_all, lower_reduction<ReduceOp::kAny>},
    {"aten.any.dim", accept_all, lower_reduction<ReduceOp::kAny>},
    {"aten.any.dims", accept_all, lower_reduction<ReduceOp::kAny>},
    {"aten.all.default", accept_all, lower_reduction<ReduceOp::kAll>},
    {"aten.all.dim", accept_all, lower_reduction<ReduceOp::kAll>},
    {"aten.all.dims", accept_all, lower_reduction<ReduceOp::kAll>},
    {"aten.argmax.default", accept_all, lower_reduction<ReduceOp::kArgmax>},
    {"aten.argmin.default", accept_all, lower_reduction<ReduceOp::kArgmin>},
    {"aten.var.default", accept_all, lower_variance<ReduceOp::kVar>},
    {"aten.var.dim", accept_all, lower_variance<ReduceOp::kVar>},
    {"aten.var.correction", accept_all, lower_variance<ReduceOp::kVar>},
    {"aten.std.default", accept_all, lower_variance<ReduceOp::kStd>},
    {"aten.std.dim", accept_all, lower_variance<ReduceOp::kStd>},
    {"aten.std.correction", accept_all, lower_variance<ReduceOp::kStd>},
    {"aten.var_mean.dim", accept_all, lower_variance<ReduceOp::kVar>},
    {"aten.var_mean.correction", accept_all, lower_variance<ReduceOp::kVar>},
    {"aten.std_mean.correction", accept_all, lower_variance<ReduceOp::kStd>},
    {"aten.logsumexp.default", accept_all, lower_logsumexp},
    {"aten.aminmax.default", accept_all, lower_aminmax},
    {"aten.count_nonzero.default", accept_all, lower_count_nonzero},
    {"aten.count_nonzero.dim_IntList", accept_all, lower_count_nonzero},
};

}  // namespace

std::span<const LoweringRow> reductions_lowerings() { return kRows; }

}  // namespace unfuse::cpu
