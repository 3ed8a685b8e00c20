// Norms in their core forms.
#include "ops/numbers_of_dtypes.h"
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

TensorType statistics(const Value* input, std::vector<Dim> sizes) {
  return TensorType::contiguous(computed_in(input->dtype()), std::move(sizes));
}

// mean and rstd: the sizes in front, then ones.
Replacement layer_norm(RewriteContext& at, const Node& node) {
  const Value* input = node.input(0);
  const auto normalized = node.argument(1).dims().size();
  std::vector<Dim> sizes = input->sizes();
  for (std::size_t i = sizes.size() - normalized; i < sizes.size(); ++i) sizes[i] = 1;
  const TensorType type = statistics(input, sizes);
  return replace_by(make_node(at.builder, node, "aten.native_layer_norm.default",
                              {node.argument(0), node.argument(1), node.argument(2),
                               node.argument(3), node.argument(4)},
                              {node.result()->type(), type, type})
                        ->result());
}

// The op takes what lies contiguous: it refuses another input, and misreads another weight.
Argument contiguous_or_none(Builder& builder, const Argument& argument) {
  Value* value = argument.value_or_null();
  return value == nullptr ? Argument() : contiguous(builder, value);
}

Replacement group_norm(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  const Value* input = node.input(0);
  const Dim& batch = input->size(0);
  const Dim& channels = input->size(1);
  Dim elements(1);
  for (std::int64_t i = 2; i < input->rank(); ++i) elements *= input->size(i);
  const Argument& groups = node.argument(1);
  const TensorType type = statistics(input, {batch, groups.dim()});
  return replace_by(make_node(builder, node, "aten.native_group_norm.default",
                              {contiguous_or_none(builder, node.argument(0)),
                               contiguous_or_none(builder, node.argument(2)),
                               contiguous_or_none(builder, node.argument(3)), batch, channels,
                               elements, groups, node.argument(4)},
                              {node.result()->type(), type, type})
                        ->result());
}

Replacement batch_norm(RewriteContext& at, const Node& node) {
  if (node.argument("training").boolean()) return kKeep;
  const TensorType none = statistics(node.input(0), {0});
  return replace_by(
      make_node(at.builder, node, "aten._native_batch_norm_legit_no_training.default",
                {node.argument(0), node.argument(1), node.argument(2), node.argument(3),
                 node.argument(4), node.argument("momentum"), node.argument("eps")},
                {node.result()->type(), none, none})
          ->result());
}

Replacement rms_norm(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* input = node.input(0);
  const DType wide = computed_in(input->dtype());
  std::vector<std::int64_t> dimensions;
  const auto normalized = static_cast<std::int64_t>(node.argument(1).dims().size());
  for (std::int64_t i = input->rank() - normalized; i < input->rank(); ++i) dimensions.push_back(i);
  const Argument& eps = node.argument("eps");
  // What PyTorch takes for none is that of the dtype that it computes in.
  const double added = eps.is_none() ? ops::machine_epsilon(wide) : eps.number();

  Value* x = convert(builder, input, wide);
  Value* square = call(builder, "aten.mul.Tensor", {x, x});
  Value* mean = call(builder, "aten.mean.dim", {square, Argument::ints(dimensions), true});
  Value* scale =
      call(builder, "aten.rsqrt.default", {call(builder, "aten.add.Scalar", {mean, added})});
  Value* result = call(builder, "aten.mul.Tensor", {x, scale});
  if (Value* weight = node.argument("weight").value_or_null()) {
    result = call(builder, "aten.mul.Tensor", {result, weight});
  }
  return replace_by(convert(builder, result, node.result()->dtype()));
}

constexpr RewriteRow kRows[] = {{"aten.layer_norm.default", layer_norm},
                                {"aten.group_norm.default", group_norm},
                                {"aten.batch_norm.default", batch_norm},
                                {"aten.rms_norm.default", rms_norm}};

}  // namespace

std::span<const RewriteRow> core_norms() { return kRows; }

}  // namespace unfuse::passes
