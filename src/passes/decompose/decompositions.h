// One line a decomposition; each is a file of its name.
#pragma once

#include "passes/decompose/decompose.h"

namespace unfuse::passes {

std::vector<Value*> native_multi_head_attention(const DecomposeContext& context, const Node& node);
std::vector<Value*> transformer_encoder_layer_fwd(const DecomposeContext& context,
                                                  const Node& node);
std::vector<Value*> scaled_dot_product_attention(const DecomposeContext& context, const Node& node);
std::vector<Value*> flash_attention_for_cpu(const DecomposeContext& context, const Node& node);
std::vector<Value*> attention_math(const DecomposeContext& context, const Node& node);
/// The four ops that SDPA becomes on GPUs: _flash_, _efficient_, _cudnn_, and the overrideable one.
std::vector<Value*> gpu_attention(const DecomposeContext& context, const Node& node);

}  // namespace unfuse::passes
