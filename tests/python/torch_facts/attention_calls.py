"""Weights of the fused ops, masks, and calls of the ops on them."""

import math

import torch
import torch.nn.functional as F

INF = float("inf")
aten = torch.ops.aten
sdpa = aten.scaled_dot_product_attention

BATCH, LENGTH, EMBED, HEADS = 2, 3, 8, 2


def bools(rows):
    return torch.tensor(rows, dtype=torch.bool)


class Heads:
    """Weights of one fused attention, and calls of the op on them."""

    def __init__(self, embed=EMBED, dtype=torch.float32, seed=0):
        generator = torch.Generator().manual_seed(seed)
        draw = lambda *sizes: torch.randn(*sizes, generator=generator).mul(0.4).to(dtype)
        self.x = draw(BATCH, LENGTH, embed)
        self.qkv_weight, self.qkv_bias = draw(3 * embed, embed), draw(3 * embed)
        self.proj_weight, self.proj_bias = draw(embed, embed), draw(embed)

    def __call__(
        self,
        query=None,
        key=None,
        value=None,
        *,
        heads=HEADS,
        embed=None,
        mask=None,
        mask_type=None,
        need_weights=False,
        average=True,
        **replaced,
    ):
        query = self.x if query is None else query
        key = query if key is None else key
        value = key if value is None else value
        weights = [
            replaced.get(n, getattr(self, n))
            for n in ("qkv_weight", "qkv_bias", "proj_weight", "proj_bias")
        ]
        return aten._native_multi_head_attention(
            query,
            key,
            value,
            query.shape[-1] if embed is None else embed,
            heads,
            *weights,
            mask,
            need_weights,
            average,
            mask_type,
        )


def reference(op, query, key, value, heads, masked=None):
    """The op's meaning in float64; `masked` is broadcastable to [B, H, L, L]."""
    embed, size = query.shape[-1], query.shape[-1] // heads
    parts = zip((query, key, value), op.qkv_weight.double().chunk(3), op.qkv_bias.double().chunk(3))
    q, k, v = [
        F.linear(t.double(), w, b).unflatten(-1, (heads, size)).transpose(1, 2) for t, w, b in parts
    ]
    scores = q @ k.transpose(-1, -2) / math.sqrt(size)
    if masked is not None:
        scores = scores.masked_fill(masked, -INF)
    weights = scores.softmax(-1)
    context = (weights @ v).transpose(1, 2).reshape(query.shape[0], -1, embed)
    return F.linear(context, op.proj_weight.double(), op.proj_bias.double()), weights


def close(actual, expected, tolerance=2e-6):
    torch.testing.assert_close(
        actual.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


class Layer:
    def __init__(self, dtype=torch.float32, forward=32):
        generator = torch.Generator().manual_seed(4)
        draw = lambda *sizes: torch.randn(*sizes, generator=generator).mul(0.4).to(dtype)
        self.x = draw(BATCH, LENGTH, EMBED)
        self.weights = {
            "qkv_weight": draw(3 * EMBED, EMBED),
            "qkv_bias": draw(3 * EMBED),
            "proj_weight": draw(EMBED, EMBED),
            "proj_bias": draw(EMBED),
            "norm_weight_1": draw(EMBED),
            "norm_bias_1": draw(EMBED),
            "norm_weight_2": draw(EMBED),
            "norm_bias_2": draw(EMBED),
            "ffn_weight_1": draw(forward, EMBED),
            "ffn_bias_1": draw(forward),
            "ffn_weight_2": draw(EMBED, forward),
            "ffn_bias_2": draw(EMBED),
        }

    def __call__(
        self,
        x=None,
        *,
        heads=HEADS,
        gelu=False,
        norm_first=False,
        eps=1e-5,
        mask=None,
        mask_type=None,
        **replaced,
    ):
        x = self.x if x is None else x
        w = list({**self.weights, **replaced}.values())
        return aten._transformer_encoder_layer_fwd(
            x, EMBED, heads, *w[:4], gelu, norm_first, eps, *w[4:], mask, mask_type
        )

    def reference(self, activation, norm_first, mask=None, mask_type=None):
        w = {name: t.double() for name, t in self.weights.items()}
        norm = lambda t, n: F.layer_norm(t, (EMBED,), w[f"norm_weight_{n}"], w[f"norm_bias_{n}"])
        attend = lambda t: aten._native_multi_head_attention(
            t, t, t, EMBED, HEADS, *list(w.values())[:4], mask, False, True, mask_type
        )[0]
        forward = lambda t: F.linear(
            activation(F.linear(t, w["ffn_weight_1"], w["ffn_bias_1"])),
            w["ffn_weight_2"],
            w["ffn_bias_2"],
        )
        x = self.x.double()
        if norm_first:
            x = x + attend(norm(x, 1))
            return x + forward(norm(x, 2))
        x = norm(x + attend(x), 1)
        return norm(x + forward(x), 2)


MASKS = {
    0: (bools([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), lambda m: m),
    1: (bools([[0, 0, 1], [0, 1, 1]]), lambda m: m[:, None, None, :]),
    2: (
        torch.rand(BATCH, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(3)) < 0.3,
        lambda m: m,
    ),
}


def qkv(batch=2, heads=2, queries=3, keys=4, size=8, kv_heads=None, dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    shape = lambda h, n: torch.randn(batch, h, n, size, generator=generator).to(dtype)
    kv_heads = kv_heads or heads
    return shape(heads, queries), shape(kv_heads, keys), shape(kv_heads, keys)


FULLY_MASKED_ROW = bools([[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])  # True attends
FLOAT_MASK = torch.zeros(3, 4).masked_fill(~FULLY_MASKED_ROW, -INF)
