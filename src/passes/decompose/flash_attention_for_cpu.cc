// aten._scaled_dot_product_flash_attention_for_cpu: what AOTAutograd makes of 4-D SDPA.
#include <limits>

#include "passes/canonical.h"
#include "passes/decompose/decompositions.h"
#include "passes/decompose/dot_product_attention.h"

namespace unfuse::passes {
namespace {

void check(const DecomposeContext& context, const DotProductAttention& attention) {
  for (const Value* part : {attention.query, attention.key, attention.value}) {
    if (part->rank() != 4) context.refuse("query, key and value need four dimensions");
  }
  if (context.differ(attention.query->size(3), attention.value->size(3))) {
    context.refuse("query and value differ in head size");
  }
  const Value* mask = attention.mask;
  if (mask == nullptr) return;
  if (mask->dtype() != DType::kFloat32 && mask->dtype() != attention.query->dtype()) {
    context.refuse("attn_mask needs to be float32 or of the query's dtype");
  }
  if (mask->rank() != 2 && mask->rank() != 4) {
    context.refuse("attn_mask needs two or four dimensions");
  }
}

// log(sum(exp(scores))) over the keys: [B, H, L]. A row whose keys are all masked gives 0.
Value* log_sum_exp(Builder& builder, Value* scores) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Argument last = Argument::ints({scores->rank() - 1});
  std::vector<Dim> rows = scores->sizes();
  rows.pop_back();

  Value* peak = call(builder, "aten.amax.default", {scores, last, true});
  Value* shifted = call(builder, "aten.sub.Tensor", {scores, peak});
  Value* sum = call(builder, "aten.sum.dim_IntList",
                    {call(builder, "aten.exp.default", {shifted}), last, false});
  peak = reshape(builder, peak, rows);
  Value* result =
      call(builder, "aten.add.Tensor", {call(builder, "aten.log.default", {sum}), peak});
  Value* masked = call(builder, "aten.eq.Scalar", {peak, -infinity});
  return call(builder, "aten.masked_fill.Scalar", {result, masked, 0.0});
}

}  // namespace

std::vector<Value*> flash_attention_for_cpu(const DecomposeContext& context, const Node& node) {
  if (node.argument("dropout_p").number() != 0) context.refuse("dropout_p needs to be 0");
  DotProductAttention attention = attention_of(node);
  attention.mask = node.argument("attn_mask").value_or_null();
  attention.grouped_heads = true;
  check(context, attention);

  const std::vector<Dim>& sizes = node.result(0)->sizes();
  Value* output = dot_product_attention(context, attention, sizes);
  if (node.result(1)->use_count() == 0) return {output, nullptr};
  return {output, log_sum_exp(context.builder, attention_scores(context, attention, sizes))};
}

}  // namespace unfuse::passes
