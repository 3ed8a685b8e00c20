// aten.scaled_dot_product_attention: what torch.export keeps of F.scaled_dot_product_attention.
#include "passes/canonical.h"
#include "passes/decompose/decompositions.h"
#include "passes/decompose/dot_product_attention.h"

namespace unfuse::passes {
namespace {

void check_mask(const DecomposeContext& context, const Value* query, const Value* mask) {
  const bool fits = mask->dtype() == DType::kBool || mask->dtype() == DType::kFloat32 ||
                    mask->dtype() == query->dtype();
  if (!fits) context.refuse("attn_mask needs to be bool, float32 or of the query's dtype");
  // The implementations for 4-D queries look at the last two dimensions of a mask.
  if (mask->rank() < 2 && query->rank() == 4 && query->tensor().numel() != Dim(0)) {
    context.refuse("attn_mask needs two dimensions or more, beside a 4-D query");
  }
}

/// Over all rows, as a mask of one dimension is broadcast.
Value* with_rows(const DecomposeContext& context, Value* mask) {
  while (mask->rank() < 2) mask = unsqueeze(context.builder, mask, 0);
  return mask;
}

}  // namespace

std::vector<Value*> scaled_dot_product_attention(const DecomposeContext& context,
                                                 const Node& node) {
  if (has_dropout(context, node)) return {};
  DotProductAttention attention;
  attention.query = node.argument("query").value();
  attention.key = node.argument("key").value();
  attention.value = node.argument("value").value();
  attention.mask = node.argument("attn_mask").value_or_null();
  attention.is_causal = node.argument("is_causal").boolean();
  attention.scale = node.argument("scale");
  attention.grouped_heads = node.argument("enable_gqa").boolean();

  if (attention.mask != nullptr) {
    check_mask(context, attention.query, attention.mask);
    attention.mask = with_rows(context, attention.mask);
  }
  // Of the implementations that SDPA chooses from, flash attention alone takes both.
  if (attention.mask != nullptr && attention.is_causal && attention.query->rank() != 4) {
    context.refuse("attn_mask and is_causal together need a 4-D query");
  }
  return {dot_product_attention(context, attention, node.result()->sizes())};
}

}  // namespace unfuse::passes
