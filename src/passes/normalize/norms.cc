// Norms: the forms that also return statistics become those that do not, when nobody reads these.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

bool only_first_used(const Node& node) {
  for (std::size_t i = 1; i < node.results().size(); ++i) {
    if (node.results()[i]->use_count() > 0) return false;
  }
  return true;
}

// One value for a node of several results.
Replacement first_result(const Node& node, Value* value) {
  std::vector<Value*> values(node.results().size(), nullptr);
  values.front() = value;
  return values;
}

Replacement native_layer_norm(RewriteContext& at, const Node& node) {
  if (!only_first_used(node)) return kKeep;
  return first_result(
      node, at.call("aten.layer_norm.default",
                    {node.argument("input"), node.argument("normalized_shape"),
                     node.argument("weight"), node.argument("bias"), node.argument("eps")}));
}

Replacement layer_norm(RewriteContext& at, const Node& node) {
  return at.become(node, "aten.layer_norm.default",
                   {node.argument("input"), node.argument("normalized_shape"),
                    node.argument("weight"), node.argument("bias"), node.argument("eps")});
}

Replacement native_group_norm(RewriteContext& at, const Node& node) {
  if (!only_first_used(node)) return kKeep;
  return first_result(
      node, at.call("aten.group_norm.default",
                    {node.argument("input"), node.argument("group"), node.argument("weight"),
                     node.argument("bias"), node.argument("eps")}));
}

Replacement group_norm(RewriteContext& at, const Node& node) {
  return at.become(node, "aten.group_norm.default",
                   {node.argument("input"), node.argument("num_groups"), node.argument("weight"),
                    node.argument("bias"), node.argument("eps")});
}

// With the input's own statistics it is a group norm of one channel a group.
Replacement instance_norm(RewriteContext& at, const Node& node) {
  const auto channels = node.input(0)->rank() >= 3 ? node.input(0)->size(1).constant()
                                                   : std::optional<std::int64_t>();
  if (node.argument("use_input_stats").boolean()) {
    // Running statistics would be updated too.
    if (!channels || !node.argument("running_mean").is_none()) return kKeep;
    return at.become(node, "aten.group_norm.default",
                     {node.input(0), *channels, node.argument("weight"), node.argument("bias"),
                      node.argument("eps")});
  }
  return at.become(node, "aten.batch_norm.default",
                   {node.input(0), node.argument("weight"), node.argument("bias"),
                    node.argument("running_mean"), node.argument("running_var"), false,
                    node.argument("momentum"), node.argument("eps"), false});
}

// The factor with which running statistics move says nothing outside of training: 0.
Arguments inference_batch_norm(const Node& node, std::string_view eps) {
  return {node.argument("input"),
          node.argument("weight"),
          node.argument("bias"),
          node.argument("running_mean"),
          node.argument("running_var"),
          false,
          0.0,
          node.argument(eps),
          false};
}

bool has_running_statistics(const Node& node) {
  const Schema& schema = node.op().schema;
  return schema.index_of("running_mean") >= 0 && !node.argument("running_mean").is_none() &&
         !node.argument("running_var").is_none();
}

bool in_training(const Node& node) {
  const int training = node.op().schema.index_of("training");
  return training >= 0 && node.argument(training).boolean();
}

// In a batch of one, statistics of the batch are those of each channel: instance norm, as it
// arrives decomposed.
Replacement by_own_statistics(RewriteContext& at, const Node& node) {
  Value* input = node.input(0);
  const auto channels = input->rank() >= 2 ? input->size(1).constant() : std::nullopt;
  if (has_running_statistics(node) || !channels || input->size(0) != Dim(1)) return kKeep;
  Value* made = at.call("aten.group_norm.default", {input, *channels, node.argument("weight"),
                                                    node.argument("bias"), node.argument("eps")});
  return first_result(node, made);
}

Replacement native_batch_norm(RewriteContext& at, const Node& node) {
  if (!only_first_used(node)) return kKeep;
  const bool cudnn = node.is("aten.cudnn_batch_norm.default");
  if (in_training(node)) return cudnn ? Replacement(kKeep) : by_own_statistics(at, node);
  if (!has_running_statistics(node)) return kKeep;
  Value* made =
      at.call("aten.batch_norm.default", inference_batch_norm(node, cudnn ? "epsilon" : "eps"));
  return first_result(node, made);
}

Replacement batch_norm(RewriteContext& at, const Node& node) {
  if (in_training(node) || !has_running_statistics(node)) return kKeep;
  return at.become(node, "aten.batch_norm.default", inference_batch_norm(node, "eps"));
}

Replacement fused_rms_norm(RewriteContext& at, const Node& node) {
  if (!only_first_used(node)) return kKeep;
  Value* made = at.call("aten.rms_norm.default",
                        {node.argument(0), node.argument(1), node.argument(2), node.argument(3)});
  return first_result(node, made);
}

// v * (g / norms), the norms being those of v over every dimension but `dim`, or over all for -1.
// 16-bit weights are computed in float32; what dtype their norms have depends on PyTorch's version.
std::vector<Value*> weight_norm_and_norms(RewriteContext& at, const Node& node) {
  const DType dtype = node.result()->dtype();
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  const DType computed = narrow ? DType::kFloat32 : dtype;
  Value* v = convert(at.builder, node.argument("v").value(), computed);
  Value* g = convert(at.builder, node.argument("g").value(), computed);
  const std::int64_t kept = node.argument("dim").integer();
  std::vector<std::int64_t> dimensions;
  for (std::int64_t i = 0; i < v->rank(); ++i) {
    if (i != kept) dimensions.push_back(i);
  }
  Value* squares = at.call("aten.mul.Tensor", {v, v});
  Value* total = at.call("aten.sum.dim_IntList", {squares, Argument::ints(dimensions), kept >= 0});
  Value* norms = at.call("aten.sqrt.default", {total});
  Value* scale = at.call("aten.div.Tensor", {g, norms});
  return {convert(at.builder, at.call("aten.mul.Tensor", {v, scale}), dtype), norms};
}

Replacement weight_norm(RewriteContext& at, const Node& node) {
  return replace_by(weight_norm_and_norms(at, node).front());
}

Replacement weight_norm_interface(RewriteContext& at, const Node& node) {
  std::vector<Value*> values = weight_norm_and_norms(at, node);
  values[1] = convert(at.builder, values[1], node.result(1)->dtype());
  return values;
}

constexpr RewriteRow kRows[] = {
    {"aten._weight_norm.default", weight_norm},
    {"aten._weight_norm_interface.default", weight_norm_interface},
    {"aten.native_layer_norm.default", native_layer_norm},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_group_norm.default", native_group_norm},
    {"aten.group_norm.default", group_norm},
    {"aten.instance_norm.default", instance_norm},
    {"aten.native_batch_norm.default", native_batch_norm},
    {"aten._native_batch_norm_legit.no_stats", native_batch_norm},
    {"aten.cudnn_batch_norm.default", native_batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", native_batch_norm},
    {"aten.batch_norm.default", batch_norm},
    {"aten._fused_rms_norm.default", fused_rms_norm},
};

}  // namespace

std::span<const RewriteRow> norm_rewrites() { return kRows; }

}  // namespace unfuse::passes
