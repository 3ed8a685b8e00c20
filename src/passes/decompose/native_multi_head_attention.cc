// aten._native_multi_head_attention: packed projection, attention, output projection.
#include "passes/canonical.h"
#include "passes/decompose/decompositions.h"
#include "passes/decompose/multi_head_attention.h"

namespace unfuse::passes {
namespace {

// [B, H, L, L] -> [B, L, L], as the op does: sum over heads / H
Value* average_over_heads(Builder& builder, Value* weights, std::int64_t heads) {
  Value* sum = call(builder, "aten.sum.dim_IntList", {weights, Argument::ints({1}), false});
  return call(builder, "aten.div.Scalar", {sum, heads});
}

}  // namespace

std::vector<Value*> native_multi_head_attention(const DecomposeContext& context, const Node& node) {
  MultiHeadAttention attention;
  attention.query = node.argument("query").value();
  attention.key = node.argument("key").value();
  attention.value = node.argument("value").value();
  attention.embed_dim = node.argument("embed_dim").integer();
  attention.heads = node.argument("num_head").integer();
  attention.qkv_weight = node.argument("qkv_weight").value();
  attention.qkv_bias = node.argument("qkv_bias").value();
  attention.proj_weight = node.argument("proj_weight").value();
  attention.proj_bias = node.argument("proj_bias").value();
  attention.mask = node.argument("mask").value_or_null();
  attention.mask_type = optional_integer(node.argument("mask_type"));

  // Weights that nobody looks at need not be held.
  const bool need_weights =
      node.argument("need_weights").boolean() && node.result(1)->use_count() > 0;
  auto [output, weights] = multi_head_attention(context, attention, need_weights);
  if (weights != nullptr && node.argument("average_attn_weights").boolean()) {
    weights = average_over_heads(context.builder, weights, attention.heads);
  }
  return {output, weights};
}

}  // namespace unfuse::passes
