#include "passes/decompose/multi_head_attention.h"

#include <cmath>

#include "passes/canonical.h"
#include "passes/decompose/attention_mask.h"
#include "passes/decompose/multi_head_checks.h"
#include "passes/decompose/spelled_attention.h"

namespace unfuse::passes {
namespace {

Value* linear(Builder& builder, Value* input, Value* weight, Value* bias) {
  return call(builder, "aten.linear.default", {input, weight, bias});
}

// Rows [begin, end) of the packed weight, in units of E, applied to one input.
Value* project(Builder& builder, const MultiHeadAttention& attention, Value* input,
               std::int64_t begin, std::int64_t end) {
  const std::int64_t embed = attention.embed_dim;
  return linear(builder, input, slice(builder, attention.qkv_weight, 0, begin * embed, end * embed),
                slice(builder, attention.qkv_bias, 0, begin * embed, end * embed));
}

// [B, L, parts E] -> parts times [B, H, L, D]
std::vector<Value*> split_heads(Builder& builder, const MultiHeadAttention& attention,
                                Value* projected, std::int64_t parts) {
  const std::int64_t head_size = attention.embed_dim / attention.heads;
  Value* apart =
      reshape(builder, projected,
              {projected->size(0), projected->size(1), parts, attention.heads, head_size});
  std::vector<Value*> heads;
  for (std::int64_t part = 0; part < parts; ++part) {
    heads.push_back(transpose(builder, select(builder, apart, 2, part), 1, 2));
  }
  return heads;
}

struct Heads {
  Value* query;  ///< [B, H, L, D] each
  Value* key;
  Value* value;
};

// One projection for what has one input: all three, key and value, or each its own.
Heads project_heads(Builder& builder, const MultiHeadAttention& attention) {
  if (attention.key != attention.value) {
    const auto one = [&](Value* input, std::int64_t part) {
      Value* projected = project(builder, attention, input, part, part + 1);
      return split_heads(builder, attention, projected, 1).front();
    };
    return {one(attention.query, 0), one(attention.key, 1), one(attention.value, 2)};
  }
  if (attention.query != attention.key) {
    Value* q = project(builder, attention, attention.query, 0, 1);
    Value* kv = project(builder, attention, attention.key, 1, 3);
    Value* query = split_heads(builder, attention, q, 1).front();
    const auto parts = split_heads(builder, attention, kv, 2);
    return {query, parts[0], parts[1]};
  }
  Value* qkv = project(builder, attention, attention.query, 0, 3);
  const auto parts = split_heads(builder, attention, qkv, 3);
  return {parts[0], parts[1], parts[2]};
}

Value* broadcastable(Builder& builder, const MultiHeadAttention& attention, Value* mask) {
  if (mask->rank() != 2 || attention.mask_type == kSourceMask) return mask;
  return reshape(builder, mask, {mask->size(0), 1, 1, mask->size(1)});
}

// True where masked, broadcastable to [B, H, L, L]; null without a mask. Or numbers to add.
Value* read_masked(const DecomposeContext& context, const MultiHeadAttention& attention) {
  if (attention.mask == nullptr) return nullptr;
  Builder& builder = context.builder;
  const NonzeroMask mask = nonzero_of(builder, attention.mask);
  if (!mask.exact && context.sdpa_semantics && is_floating_point(attention.mask->dtype())) {
    context.note(
        "gets its " + std::string(dtype_name(attention.mask->dtype())) +
        " mask added to the scores, as SDPA does; the op hides a key wherever the mask is not "
        "zero, so that every row whose mask is neither 0 nor -inf may differ");
    Value* added = attention.mask;
    const bool taken =
        added->dtype() == DType::kFloat32 || added->dtype() == attention.query->dtype();
    if (!taken) added = convert(builder, added, attention.query->dtype());
    return broadcastable(builder, attention, added);
  }
  if (!mask.exact) {
    context.note("hides a key wherever its " + std::string(dtype_name(attention.mask->dtype())) +
                 " mask is not zero, as it does in PyTorch; the mask's values are not added to the "
                 "scores");
  }
  return broadcastable(builder, attention, mask.nonzero);
}

// [B, H, L, D] -> [B, L, E] -> [B, L, F]
Value* project_output(Builder& builder, const MultiHeadAttention& attention, Value* context) {
  Value* merged = transpose(builder, context, 1, 2);
  merged = reshape(builder, merged, {merged->size(0), merged->size(1), attention.embed_dim});
  // The op adds the bias as addmm does: one element goes for all.
  Value* bias = expand(builder, attention.proj_bias, {attention.proj_weight->size(0)});
  return linear(builder, merged, attention.proj_weight, bias);
}

MultiHeadResult attend_spelled_out(const DecomposeContext& context, const Heads& heads,
                                   Value* masked, double scale, bool zero_fully_masked) {
  Builder& builder = context.builder;
  Value* query = call(builder, "aten.mul.Scalar", {heads.query, scale});
  Value* scores =
      call(builder, "aten.matmul.default", {query, transpose(builder, heads.key, 2, 3)});
  if (masked != nullptr) {
    scores =
        masked->dtype() == DType::kBool
            ? keep_attended(builder, scores, negate(builder, masked))
            : call(builder, "aten.add.Tensor", {scores, convert(builder, masked, scores->dtype())});
  }
  Value* weights = softmax_of_scores(builder, scores, zero_fully_masked);
  return {call(builder, "aten.matmul.default", {weights, heads.value}), weights};
}

Value* attend(const DecomposeContext& context, const Heads& heads, Value* masked,
              bool zero_fully_masked) {
  Builder& builder = context.builder;
  AttentionMask mask;
  if (masked != nullptr) {
    mask = masked->dtype() == DType::kBool ? read_attended(builder, negate(builder, masked))
                                           : AttentionMask{masked, false};
  }
  // Every row of a causal mask keeps a key.
  if (mask.mask != nullptr && context.sdpa_semantics) {
    context.note("gives zeros in rows whose keys are all masked, where the op gives NaN");
  }
  return call(builder, "unfuse.attention", {heads.query, heads.key, heads.value, mask.mask},
              {{"is_causal", mask.is_causal}, {"zero_fully_masked", zero_fully_masked}});
}

}  // namespace

MultiHeadResult multi_head_attention(const DecomposeContext& context,
                                     const MultiHeadAttention& attention, bool need_weights) {
  check_inputs(context, attention);
  if (is_empty(attention.query)) return {attention.query, nullptr};
  check_mask(context, attention);

  Builder& builder = context.builder;
  const Heads heads = project_heads(builder, attention);
  Value* masked = read_masked(context, attention);
  const bool zero =
      context.sdpa_semantics || context.options.fully_masked_rows == FullyMaskedRows::kZero;
  if (!need_weights) {
    return {project_output(builder, attention, attend(context, heads, masked, zero)), nullptr};
  }
  const std::int64_t head_size = attention.embed_dim / attention.heads;
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_size));
  MultiHeadResult result = attend_spelled_out(context, heads, masked, scale, zero);
  result.output = project_output(builder, attention, result.output);
  return result;
}

std::optional<std::int64_t> optional_integer(const Argument& argument) {
  if (argument.is_none()) return std::nullopt;
  return argument.integer();
}

bool is_empty(const Value* value) { return value->tensor().numel() == Dim(0); }

}  // namespace unfuse::passes
