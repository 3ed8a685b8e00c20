#include "passes/decompose/multi_head_checks.h"

#include <string>

namespace unfuse::passes {
namespace {

std::string sizes_of(const std::vector<Dim>& sizes) {
  std::string text = "[";
  for (const Dim& size : sizes) text += (text.size() > 1 ? ", " : "") + size.to_string();
  return text + "]";
}

void expect_sizes(const DecomposeContext& context, const char* name, const Value* value,
                  const std::vector<Dim>& wanted) {
  bool fits = value->sizes().size() == wanted.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    fits = !context.differ(value->sizes()[i], wanted[i]);
  }
  if (!fits) {
    context.refuse(std::string(name) + " is " + sizes_of(value->sizes()) + ", which should be " +
                   sizes_of(wanted));
  }
}

void check_dtypes(const DecomposeContext& context, const MultiHeadAttention& attention) {
  const DType dtype = attention.query->dtype();
  if (!is_floating_point(dtype) || dtype_size(dtype) < 2) {
    context.refuse("not implemented for " + std::string(dtype_name(dtype)));
  }
  // The op itself does not look at the dtype of qkv_bias, and reads another one's bits as its own.
  for (const Value* value : {attention.key, attention.value, attention.qkv_weight,
                             attention.qkv_bias, attention.proj_weight, attention.proj_bias}) {
    if (value->dtype() == dtype) continue;
    context.refuse("query, key, value, weights and biases need one dtype, not " +
                   std::string(dtype_name(dtype)) + " and " +
                   std::string(dtype_name(value->dtype())));
  }
}

}  // namespace

void check_inputs(const DecomposeContext& context, const MultiHeadAttention& attention) {
  const std::int64_t embed = attention.embed_dim;
  const Value* query = attention.query;
  if (query->rank() != 3) context.refuse("query needs three dimensions");
  expect_sizes(context, "query", query, {query->size(0), query->size(1), embed});
  expect_sizes(context, "key", attention.key, query->sizes());
  expect_sizes(context, "value", attention.value, query->sizes());
  expect_sizes(context, "qkv_weight", attention.qkv_weight, {3 * embed, embed});
  expect_sizes(context, "qkv_bias", attention.qkv_bias, {3 * embed});
  if (attention.heads <= 0 || embed % attention.heads != 0) {
    context.refuse("embed_dim " + std::to_string(embed) + " does not divide evenly by num_heads " +
                   std::to_string(attention.heads));
  }
  if (is_empty(query)) return;
  if (attention.proj_weight->rank() != 2) context.refuse("proj_weight needs two dimensions");
  const Dim& outputs = attention.proj_weight->size(0);
  expect_sizes(context, "proj_weight", attention.proj_weight, {outputs, embed});
  const bool one_for_all = attention.proj_bias->sizes() == std::vector<Dim>{1};
  if (!one_for_all) expect_sizes(context, "proj_bias", attention.proj_bias, {outputs});
  check_dtypes(context, attention);
}

void check_mask(const DecomposeContext& context, const MultiHeadAttention& attention) {
  const Value* mask = attention.mask;
  if (mask == nullptr) return;
  const Dim& batch = attention.query->size(0);
  const Dim& length = attention.query->size(1);
  if (mask->rank() != 2) {
    expect_sizes(context, "mask", mask, {batch, attention.heads, length, length});
    return;
  }
  if (!attention.mask_type) context.refuse("a mask with two dimensions needs a mask_type");
  switch (*attention.mask_type) {
    case kSourceMask:
      return expect_sizes(context, "mask", mask, {length, length});
    case kPaddingMask:
      return expect_sizes(context, "mask", mask, {batch, length});
    case kDefaultMask:
      return expect_sizes(context, "mask", mask, {batch, attention.heads, length, length});
    default:
      context.refuse("mask_type is " + std::to_string(*attention.mask_type) +
                     ", which should be 0, 1 or 2");
  }
}

}  // namespace unfuse::passes
