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

constexpr RewriteRow kRows[] = {
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
