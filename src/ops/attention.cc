// Attention in the forms that reach a graph, and ours.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kFused{.fused = true};

constexpr OpInfo kRows[] = {
    {"aten.scaled_dot_product_attention.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
     "float dropout_p=0., bool is_causal=False, *, float? scale=None, "
     "bool enable_gqa=False) -> Tensor",
     kFused, scaled_dot_product_attention_type},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default",
     "(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, "
     "*, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     kFused},
    {"aten._scaled_dot_product_attention_math.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
     "float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
     "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
     kFused},
    {"aten._scaled_dot_product_flash_attention.default",
     "(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, "
     "bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, "
     "Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, "
     "Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
     kFused},
    {"aten._scaled_dot_product_efficient_attention.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
     "bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, "
     "float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, "
     "Tensor philox_offset)",
     kFused},
    {"aten._scaled_dot_product_cudnn_attention.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
     "bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, "
     "bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, "
     "Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, "
     "Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
     kFused},
    {"aten._scaled_dot_product_fused_attention_overrideable.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? attn_bias=None, "
     "float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
     "float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, "
     "Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, "
     "Tensor philox_offset, Tensor debug_attn_mask)",
     kFused},
    {"aten._native_multi_head_attention.default",
     "(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, "
     "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
     "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, "
     "int? mask_type=None) -> (Tensor, Tensor)",
     kFused},
    {"aten._transformer_encoder_layer_fwd.default",
     "(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, "
     "Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, "
     "Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, "
     "Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, "
     "Tensor? mask=None, int? mask_type=None) -> Tensor",
     kFused},
    {"aten._flash_attention_forward.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, "
     "SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, "
     "bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, "
     "SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, "
     "Tensor? block_table=None, int? num_splits=None) -> (Tensor output, "
     "Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
     kFused},
    {"aten._efficient_attention_forward.default",
     "(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, "
     "Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, "
     "int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, "
     "Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor logsumexp, "
     "Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q, "
     "SymInt max_seqlen_batch_k)",
     kFused},

    // Attention that says what a row gives whose keys are all masked. query [..., H, L, D],
    // key and value [..., Hkv, S, D] with H a multiple of Hkv; mask bool (true = attend) or float
    // (added), broadcastable to [..., H, L, S]; is_causal is top-left aligned and may be combined
    // with a mask; scale None is 1 / sqrt(D). A fully masked row gives 0 when zero_fully_masked,
    // else NaN. products, which the CPU target alone sets, is what it multiplies, as in
    // unfuse.linear. Result [..., H, L, D], contiguous.
    {"unfuse.attention",
     "(Tensor query, Tensor key, Tensor value, Tensor? mask=None, *, float? scale=None, "
     "bool is_causal=False, bool zero_fully_masked=True, str products=\"float32\") -> Tensor",
     {},
     attention_type},
    // The same of packed rows (unfuse.pack_rows): sequence b has those from offsets[b] to
    // offsets[b + 1]. The mask, if any, is packed like them, [B, 1, 1, L]. Made and run by the CPU
    // target alone.
    {"unfuse.packed_attention",
     "(Tensor query, Tensor key, Tensor value, Tensor offsets, Tensor? mask=None, *, "
     "float? scale=None, bool is_causal=False, bool zero_fully_masked=True, "
     "str products=\"float32\") -> Tensor"},
};

}  // namespace

std::span<const OpInfo> attention_ops() { return kRows; }

}  // namespace unfuse::ops
