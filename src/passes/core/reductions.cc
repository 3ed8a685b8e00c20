// Reductions that are not core.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

// log(sum(exp(x - largest))) + largest, where that is finite. Of nothing there is no largest.
Replacement logsumexp(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  if (node.input(0)->tensor().numel() == Dim(0)) return kKeep;
  Value* self = convert(builder, node.input(0), node.result()->dtype());
  const Argument& dim = node.argument("dim");
  const Argument& keepdim = node.argument("keepdim");
  const auto largest_of = [&](const Argument& keep) {
    Value* largest = call(builder, "aten.amax.default", {self, dim, keep});
    Value* is_infinite = call(builder, "aten.isinf.default", {largest});
    Value* zero = scalar(builder, Argument(0), largest->dtype());
    return call(builder, "aten.where.self", {is_infinite, zero, largest});
  };
  Value* distance = call(builder, "aten.sub.Tensor", {self, largest_of(Argument(true))});
  Value* sum = call(builder, "aten.sum.dim_IntList",
                    {call(builder, "aten.exp.default", {distance}), dim, keepdim});
  Value* logarithm = call(builder, "aten.log.default", {sum});
  return replace_by(call(builder, "aten.add.Tensor", {logarithm, largest_of(keepdim)}));
}

// NaN counts as zero.
Value* numbers_of(Builder& builder, Value* self) {
  if (!is_floating_point(self->dtype())) return self;
  Value* zero = scalar(builder, Argument(0), self->dtype());
  return call(builder, "aten.where.self",
              {call(builder, "aten.isnan.default", {self}), zero, self});
}

Replacement nansum(RewriteContext& at, const Node& node) {
  return replace_by(
      call(at.builder, "aten.sum.dim_IntList",
           {numbers_of(at.builder, node.input(0)), node.argument("dim"), node.argument("keepdim")},
           {{"dtype", node.argument("dtype")}}));
}

// Over the numbers that are none of NaN.
Replacement nanmean(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  if (!is_floating_point(self->dtype())) return kKeep;
  const auto sum_of = [&](Value* value, const Argument& dtype) {
    return call(builder, "aten.sum.dim_IntList",
                {value, node.argument("dim"), node.argument("keepdim")}, {{"dtype", dtype}});
  };
  Value* is_number =
      call(builder, "aten.logical_not.default", {call(builder, "aten.isnan.default", {self})});
  Value* count = sum_of(is_number, Argument());
  return replace_by(call(builder, "aten.div.Tensor",
                         {sum_of(numbers_of(builder, self), node.argument("dtype")), count}));
}

constexpr RewriteRow kRows[] = {{"aten.logsumexp.default", logsumexp},
                                {"aten.nansum.default", nansum},
                                {"aten.nanmean.default", nanmean}};

}  // namespace

std::span<const RewriteRow> core_reductions() { return kRows; }

}  // namespace unfuse::passes
