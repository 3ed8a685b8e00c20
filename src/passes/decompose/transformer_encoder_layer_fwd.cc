// aten._transformer_encoder_layer_fwd: what nn.TransformerEncoderLayer runs in eval mode.
#include "passes/canonical.h"
#include "passes/decompose/decompositions.h"
#include "passes/decompose/multi_head_attention.h"

namespace unfuse::passes {
namespace {

class EncoderLayer {
 public:
  EncoderLayer(const DecomposeContext& context, const Node& node)
      : context_(context), builder_(context.builder), node_(node) {}

  Value* forward(Value* x) {
    if (node_.argument("norm_first").boolean()) {
      x = add(x, attend(norm(x, "norm_weight_1", "norm_bias_1")));
      return add(x, feed_forward(norm(x, "norm_weight_2", "norm_bias_2")));
    }
    x = norm(add(x, attend(x)), "norm_weight_1", "norm_bias_1");
    return norm(add(x, feed_forward(x)), "norm_weight_2", "norm_bias_2");
  }

 private:
  Value* weight(const char* name) const { return node_.argument(name).value(); }

  Value* attend(Value* x) {
    MultiHeadAttention attention;
    attention.query = attention.key = attention.value = x;
    attention.embed_dim = node_.argument("embed_dim").integer();
    attention.heads = node_.argument("num_heads").integer();
    attention.qkv_weight = weight("qkv_weight");
    attention.qkv_bias = weight("qkv_bias");
    attention.proj_weight = weight("proj_weight");
    attention.proj_bias = weight("proj_bias");
    attention.mask = node_.argument("mask").value_or_null();
    attention.mask_type = optional_integer(node_.argument("mask_type"));
    return multi_head_attention(context_, attention, /*need_weights=*/false).output;
  }

  Value* feed_forward(Value* x) {
    Value* hidden = linear(x, "ffn_weight_1", "ffn_bias_1");
    const bool gelu = node_.argument("use_gelu").boolean();
    hidden = call(builder_, gelu ? "aten.gelu.default" : "aten.relu.default", {hidden});
    return linear(hidden, "ffn_weight_2", "ffn_bias_2");
  }

  Value* norm(Value* x, const char* weight_name, const char* bias_name) {
    return call(builder_, "aten.layer_norm.default",
                {x, Argument::ints({node_.argument("embed_dim").integer()}), weight(weight_name),
                 weight(bias_name), node_.argument("eps")});
  }

  Value* linear(Value* x, const char* weight_name, const char* bias_name) {
    Value* matrix = weight(weight_name);
    if (matrix->rank() != 2) context_.refuse(std::string(weight_name) + " needs two dimensions");
    if (matrix->dtype() != x->dtype() || weight(bias_name)->dtype() != x->dtype()) {
      context_.refuse(std::string(weight_name) + " and its bias need the input's dtype");
    }
    // The op adds the bias as addmm does: one element goes for all.
    Value* bias = expand(builder_, weight(bias_name), {matrix->size(0)});
    return call(builder_, "aten.linear.default", {x, matrix, bias});
  }

  // A residual. The op adds in place, so that nothing may broadcast.
  Value* add(Value* residual, Value* x) {
    if (context_.differ(residual->size(-1), x->size(-1))) {
      context_.refuse("the output projection gives " + x->size(-1).to_string() + " features, not " +
                      residual->size(-1).to_string());
    }
    return call(builder_, "aten.add.Tensor", {residual, x});
  }

  const DecomposeContext& context_;
  Builder& builder_;
  const Node& node_;
};

}  // namespace

std::vector<Value*> transformer_encoder_layer_fwd(const DecomposeContext& context,
                                                  const Node& node) {
  Value* source = node.argument("src").value();
  if (is_empty(source)) return {source};
  return {EncoderLayer(context, node).forward(source)};
}

}  // namespace unfuse::passes
