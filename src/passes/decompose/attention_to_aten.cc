#include "passes/decompose/attention_to_aten.h"

#include <limits>

#include "passes/canonical.h"
#include "passes/decompose/spelled_attention.h"
#include "passes/rewrite.h"

namespace unfuse::passes {
namespace {

struct Attention {
  Value* query;
  Value* key;
  Value* value;
  Value* mask;
  Argument scale;
  bool is_causal;
  bool zero_fully_masked;
};

Attention read(const Node& node) {
  return {node.argument("query").value(),
          node.argument("key").value(),
          node.argument("value").value(),
          node.argument("mask").value_or_null(),
          node.argument("scale"),
          node.argument("is_causal").boolean(),
          node.argument("zero_fully_masked").boolean()};
}

bool has_bool_mask(const Attention& attention) {
  return attention.mask != nullptr && attention.mask->dtype() == DType::kBool;
}

// SDPA takes either a mask or the flag, not both at every rank.
void merge_causal_into_mask(Builder& builder, Attention& attention) {
  if (!attention.is_causal || attention.mask == nullptr) return;
  Value* causal = causal_mask(builder, attention.query->size(-2), attention.key->size(-2));
  attention.mask = has_bool_mask(attention)
                       ? call(builder, "aten.logical_and.default", {attention.mask, causal})
                       : keep_attended(builder, attention.mask, causal);
  attention.is_causal = false;
}

Value* at_least_two_dimensions(Builder& builder, Value* mask) {
  while (mask->rank() < 2) mask = unsqueeze(builder, mask, 0);
  return mask;
}

Value* dot_product(Builder& builder, const Attention& attention) {
  const Value* query = attention.query;
  const bool grouped = query->rank() > 2 && query->size(-3) != attention.key->size(-3);
  return call(
      builder, "aten.scaled_dot_product_attention.default",
      {attention.query, attention.key, attention.value, attention.mask, 0.0, attention.is_causal},
      {{"scale", attention.scale}, {"enable_gqa", grouped}});
}

// NaN in the rows that no key is left for.
Value* with_nan_rows(Builder& builder, Value* output, Value* attended) {
  const std::int64_t last = attended->rank() - 1;
  Value* some = call(builder, "aten.any.dims", {attended, Argument::ints({last}), true});
  return call(builder, "aten.where.ScalarOther",
              {some, output, std::numeric_limits<double>::quiet_NaN()});
}

// What is left of a mask and the flag when they are applied to scores.
Value* masked_scores(Builder& builder, const Attention& attention, Value* scores) {
  if (attention.mask != nullptr) {
    scores = has_bool_mask(attention)
                 ? keep_attended(builder, scores, attention.mask)
                 : call(builder, "aten.add.Tensor",
                        {scores, convert(builder, attention.mask, scores->dtype())});
  }
  if (!attention.is_causal) return scores;
  return keep_attended(builder, scores, causal_mask(builder, scores->size(-2), scores->size(-1)));
}

// A float mask may hide a row together with the scores, which only softmax sees.
Value* spelled_out(Builder& builder, const Node& node, const Attention& attention) {
  const Value* query = attention.query;
  const Dim heads = query->rank() > 2 ? query->size(-3) : Dim(1);
  const double scale = scale_or_default(node, attention.scale, query);
  Value* scores =
      scaled_scores(builder, attention.query, repeat_heads(builder, attention.key, heads), scale);
  scores = masked_scores(builder, attention, scores);
  Value* weights = softmax_of_scores(builder, scores, attention.zero_fully_masked);
  return call(builder, "aten.matmul.default",
              {weights, repeat_heads(builder, attention.value, heads)});
}

template <typename Spell>
void replace_attention(Graph& graph, Node* node, Spell spell) {
  Builder builder(graph, node);
  replace_by_equal(graph, node->result(), spell(builder, *node), node);
  graph.erase(node);
}

}  // namespace

Value* attention_to_aten(Builder& builder, const Node& node) {
  Attention attention = read(node);
  merge_causal_into_mask(builder, attention);
  // Without a mask every row keeps its first key.
  const bool may_hide_rows = attention.mask != nullptr && !attention.zero_fully_masked;
  if (!may_hide_rows || has_bool_mask(attention)) {
    if (attention.mask != nullptr) {
      attention.mask = at_least_two_dimensions(builder, attention.mask);
    }
    Value* output = dot_product(builder, attention);
    return may_hide_rows ? with_nan_rows(builder, output, attention.mask) : output;
  }
  return spelled_out(builder, node, attention);
}

Value* attention_to_products(Builder& builder, const Node& node) {
  Attention attention = read(node);
  const DType dtype = attention.query->dtype();
  const bool narrow = dtype_size(dtype) < 4;
  if (narrow) {
    for (Value** part : {&attention.query, &attention.key, &attention.value}) {
      *part = convert(builder, *part, DType::kFloat32);
    }
  }
  // Without a mask every row keeps its first key.
  if (attention.mask == nullptr) attention.zero_fully_masked = false;
  return convert(builder, spelled_out(builder, node, attention), dtype);
}

void write_back_attention(Graph& graph, const std::function<bool(const Node&)>& which) {
  for (Node* node : graph.nodes()) {
    if (!node->is("unfuse.attention") || (which && !which(*node))) continue;
    replace_attention(graph, node, attention_to_aten);
  }
}

void spell_out_attention(Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (node->is("unfuse.attention")) replace_attention(graph, node, attention_to_products);
  }
}

}  // namespace unfuse::passes
