// aten._scaled_dot_product_attention_math: SDPA where no fused kernel applies; gives its weights
// too.
#include "passes/canonical.h"
#include "passes/decompose/decompositions.h"
#include "passes/decompose/dot_product_attention.h"
#include "passes/decompose/spelled_attention.h"

namespace unfuse::passes {

std::vector<Value*> attention_math(const DecomposeContext& context, const Node& node) {
  if (has_dropout(context, node)) return {};
  Builder& builder = context.builder;
  DotProductAttention attention = attention_of(node);
  attention.mask = node.argument("attn_mask").value_or_null();
  attention.grouped_heads = node.argument("enable_gqa").boolean();
  if (attention.mask != nullptr && attention.is_causal) {
    context.refuse("attn_mask and is_causal do not go together");
  }
  // The op adds whatever it gets: a bool mask counts as zeros and ones.
  if (attention.mask != nullptr && !is_floating_point(attention.mask->dtype())) {
    attention.mask = convert(builder, attention.mask, attention.query->dtype());
  }

  const std::vector<Dim>& sizes = node.result(0)->sizes();
  Value* output = dot_product_attention(context, attention, sizes);
  if (node.result(1)->use_count() == 0) return {output, nullptr};
  Value* weights = softmax_of_scores(builder, attention_scores(context, attention, sizes), true);
  return {output, convert(builder, weights, node.result(1)->dtype())};
}

}  // namespace unfuse::passes
