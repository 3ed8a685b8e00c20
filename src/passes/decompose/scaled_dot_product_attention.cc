// aten.scaled_dot_product_attention: what torch.export keeps of F.scaled_dot_product_attention.
#include "passes/canonical.h"
#include "passes/decompose/decompositions.h"
#include "passes/decompose/dot_product_attention.h"

namespace unfuse::passes {
namespace {

/// What the implementations other than the plain one ask for.
bool are_of_four_dimensions(const DotProductAttention& attention) {
  return attention.query->rank() == 4 && attention.key->rank() == 4 && attention.value->rank() == 4;
}

void check_mask(const DecomposeContext& context, const DotProductAttention& attention) {
  const Value *query = attention.query, *mask = attention.mask;
  const bool fits = mask->dtype() == DType::kBool || mask->dtype() == DType::kFloat32 ||
                    mask->dtype() == query->dtype();
  if (!fits) context.refuse("attn_mask needs to be bool, float32 or of the query's dtype");
  // The implementations for four dimensions look at the last two of a mask.
  if (mask->rank() < 2 && are_of_four_dimensions(attention) && query->tensor().numel() != Dim(0)) {
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
  DotProductAttention attention = attention_of(node);
  attention.mask = node.argument("attn_mask").value_or_null();
  attention.grouped_heads = node.argument("enable_gqa").boolean();

  if (attention.mask != nullptr) {
    check_mask(context, attention);
    attention.mask = with_rows(context, attention.mask);
  }
  // Of the implementations that SDPA chooses from, flash attention alone takes both.
  if (attention.mask != nullptr && attention.is_causal && !are_of_four_dimensions(attention)) {
    context.refuse("attn_mask and is_causal together need 4-D queries, keys and values");
  }
  return {dot_product_attention(context, attention, node.result()->sizes())};
}

}  // namespace unfuse::passes
