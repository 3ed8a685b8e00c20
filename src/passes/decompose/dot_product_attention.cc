#include "passes/decompose/dot_product_attention.h"

#include <fmt/format.h>

#include "passes/canonical.h"
#include "passes/decompose/attention_mask.h"
#include "passes/decompose/spelled_attention.h"

namespace unfuse::passes {
namespace {

void check(const DecomposeContext& context, const DotProductAttention& attention) {
  const Value *query = attention.query, *key = attention.key, *value = attention.value;
  if (query->rank() < 2 || key->rank() < 2 || value->rank() < 2) {
    context.refuse("query, key and value need two dimensions or more");
  }
  if (!is_floating_point(query->dtype()) || query->dtype() != key->dtype() ||
      query->dtype() != value->dtype()) {
    context.refuse("query, key and value need one floating-point dtype");
  }
  if (context.differ(query->size(-1), key->size(-1))) {
    context.refuse("query and key differ in their last dimension");
  }
  if (context.differ(key->size(-2), value->size(-2))) {
    context.refuse("key and value differ in length");
  }
  if (attention.grouped_heads && (query->rank() < 3 || key->rank() < 3 || value->rank() < 3)) {
    context.refuse("enable_gqa needs a dimension of heads");
  }
}

bool is_one(const Dim& size) { return size == Dim(1); }

// [..., X, Y] with other batch dimensions, broadcast.
Value* with_batch(Builder& builder, Value* value, std::vector<Dim> batch) {
  batch.push_back(value->size(-2));
  batch.push_back(value->size(-1));
  return expand(builder, value, batch);
}

bool divides(const Dim& heads, const Dim& divisor) {
  if (const auto quotient = heads.exact_quotient(divisor)) return true;
  return !(heads.constant() && divisor.constant());
}

void check_heads(const DecomposeContext& context, const DotProductAttention& attention,
                 const Value* part, const Dim& heads) {
  const Dim& own = part->size(-3);
  if (attention.grouped_heads ? divides(heads, own) : is_one(own) || !context.differ(own, heads))
    return;
  context.refuse(own.to_string() + " heads of keys or values do not fit " + heads.to_string() +
                 " heads of queries");
}

struct Operands {
  Value* query;
  Value* key;
  Value* value;
};

// Key and value keep fewer heads than the query where both have the same number.
Operands broadcast(const DecomposeContext& context, const DotProductAttention& attention,
                   const std::vector<Dim>& sizes) {
  Builder& builder = context.builder;
  if (sizes.size() == 2) return {attention.query, attention.key, attention.value};
  std::vector<Dim> batch(sizes.begin(), sizes.end() - 3);
  const Dim& heads = sizes[sizes.size() - 3];
  const auto spread = [&](Value* part, const Dim& own_heads) {
    std::vector<Dim> dims = batch;
    dims.push_back(own_heads);
    return with_batch(builder, part, dims);
  };
  const auto heads_of = [](const Value* part) {
    return part->rank() < 3 ? Dim(1) : part->size(-3);
  };
  Operands operands{spread(attention.query, heads), spread(attention.key, heads_of(attention.key)),
                    spread(attention.value, heads_of(attention.value))};
  check_heads(context, attention, operands.key, heads);
  check_heads(context, attention, operands.value, heads);
  if (operands.key->size(-3) != operands.value->size(-3)) {
    operands.key = repeat_heads(builder, operands.key, heads);
    operands.value = repeat_heads(builder, operands.value, heads);
  }
  return operands;
}

// A bool mask is read; one to add is brought to float32 or the query's dtype.
AttentionMask read_mask(const DecomposeContext& context, const DotProductAttention& attention) {
  if (attention.mask == nullptr) return {nullptr, attention.is_causal};
  AttentionMask mask;
  if (attention.mask->dtype() == DType::kBool) {
    mask = read_attended(context.builder, attention.mask);
  } else {
    mask = read_added_mask(context.builder, attention.mask);
    const DType dtype = mask.mask == nullptr ? DType::kBool : mask.mask->dtype();
    if (dtype != DType::kBool && dtype != DType::kFloat32 && dtype != attention.query->dtype()) {
      mask.mask = convert(context.builder, mask.mask, attention.query->dtype());
    }
  }
  mask.is_causal = mask.is_causal || attention.is_causal;
  return mask;
}

// Bool and float masks alike; what is neither is added as numbers.
Value* mask_scores(const DecomposeContext& context, const DotProductAttention& attention,
                   Value* scores) {
  Builder& builder = context.builder;
  if (Value* mask = attention.mask) {
    scores =
        mask->dtype() == DType::kBool
            ? keep_attended(builder, scores, mask)
            : call(builder, "aten.add.Tensor", {scores, convert(builder, mask, scores->dtype())});
  }
  if (!attention.is_causal) return scores;
  return keep_attended(builder, scores, causal_mask(builder, scores->size(-2), scores->size(-1)));
}

}  // namespace

DotProductAttention attention_of(const Node& node) {
  DotProductAttention attention;
  attention.query = node.argument("query").value();
  attention.key = node.argument("key").value();
  attention.value = node.argument("value").value();
  attention.is_causal = node.argument("is_causal").boolean();
  attention.scale = node.argument("scale");
  return attention;
}

Value* dot_product_attention(const DecomposeContext& context, const DotProductAttention& attention,
                             const std::vector<Dim>& sizes) {
  check(context, attention);
  const Operands operands = broadcast(context, attention, sizes);
  const AttentionMask mask = read_mask(context, attention);
  return call(context.builder, "unfuse.attention",
              {operands.query, operands.key, operands.value, mask.mask},
              {{"scale", attention.scale},
               {"is_causal", mask.is_causal},
               {"zero_fully_masked", attention.zero_fully_masked}});
}

Value* attention_scores(const DecomposeContext& context, const DotProductAttention& attention,
                        const std::vector<Dim>& sizes) {
  check(context, attention);
  Builder& builder = context.builder;
  const Operands operands = broadcast(context, attention, sizes);
  const DType wide =
      attention.query->dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  Value* key = operands.key;
  if (sizes.size() > 2) key = repeat_heads(builder, key, sizes[sizes.size() - 3]);
  Value* scores =
      scaled_scores(builder, convert(builder, operands.query, wide), convert(builder, key, wide),
                    scale_or_default(context.node, attention.scale, operands.query));
  return mask_scores(context, attention, scores);
}

bool has_dropout(const DecomposeContext& context, const Node& node) {
  const double probability = node.argument("dropout_p").number();
  if (probability == 0) return false;
  context.note("is left as it is, since its dropout_p is " + fmt::format("{}", probability) +
               "; call eval() on the model");
  return true;
}

}  // namespace unfuse::passes
