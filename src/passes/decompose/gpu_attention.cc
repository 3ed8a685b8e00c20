// The ops that SDPA becomes on GPUs. They differ in what they keep for the backward pass and in the
// name of the mask; the first result means the same in all of them.
#include <algorithm>

#include "passes/decompose/decompositions.h"
#include "passes/decompose/dot_product_attention.h"

namespace unfuse::passes {
namespace {

Value* mask_of(const Node& node) {
  const int index = node.op().schema.index_of("attn_bias");
  return index < 0 ? nullptr : node.argument(index).value_or_null();
}

bool only_the_first_result_is_used(const Node& node) {
  return std::all_of(node.results().begin() + 1, node.results().end(),
                     [](const Value* result) { return result->use_count() == 0; });
}

}  // namespace

std::vector<Value*> gpu_attention(const DecomposeContext& context, const Node& node) {
  if (has_dropout(context, node)) return {};
  if (!only_the_first_result_is_used(node)) {
    context.note("is left as it is, since what it keeps for the backward pass is used");
    return {};
  }
  DotProductAttention attention = attention_of(node);
  attention.mask = mask_of(node);
  attention.grouped_heads = true;
  // Flash attention aligns its causal mask at the bottom right, the others at the top left.
  const bool square = equal(attention.query->size(-2), attention.key->size(-2),
                            context.builder.graph().symbols) == Answer::kYes;
  if (attention.is_causal && attention.mask == nullptr && !square &&
      node.is("aten._scaled_dot_product_flash_attention.default")) {
    context.note("is left as it is, since it is causal with queries and keys of different lengths");
    return {};
  }
  std::vector<Value*> results(node.results().size(), nullptr);
  results[0] = dot_product_attention(context, attention, node.result(0)->sizes());
  return results;
}

}  // namespace unfuse::passes
