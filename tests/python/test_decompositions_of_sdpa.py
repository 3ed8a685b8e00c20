"""Scaled dot-product attention in every form in which it arrives, opened, against the ops."""

import math

import pytest
import torch
import unfuse
from compiling import Compiled, assert_close
from opened_graph import Opened, bool_mask, check, check_graph, random, trace

aten = torch.ops.aten
INF = math.inf
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def qkv(
    batch=(2,),
    heads=4,
    kv_heads=None,
    queries=3,
    keys=5,
    size=8,
    value_size=None,
    dtype=torch.float32,
):
    kv_heads = kv_heads or heads
    return [
        random(*batch, heads, queries, size, dtype=dtype, seed=1),
        random(*batch, kv_heads, keys, size, dtype=dtype, seed=2),
        random(*batch, kv_heads, keys, value_size or size, dtype=dtype, seed=3),
    ]


def attended(*sizes):
    """True attends; one row is hidden altogether where there are several."""
    mask = ~bool_mask(*sizes)
    if sizes[-2] > 1:
        mask[..., 1, :] = False
    return mask


SDPA_MASKS = {
    "none": lambda: [],
    "bool": lambda: [attended(3, 5)],
    "bool padding": lambda: [attended(2, 1, 1, 5)],
    "bool full": lambda: [attended(2, 4, 3, 5)],
    "float": lambda: [random(3, 5, seed=7)],
    "float -inf": lambda: [torch.zeros(3, 5).masked_fill(~attended(3, 5), -INF)],
    "float heads": lambda: [random(4, 3, 5, seed=7)],
}


def sdpa(q, k, v, mask=None, *, is_causal=False, scale=None, enable_gqa=False):
    return aten.scaled_dot_product_attention(
        q, k, v, mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
# A mask of three dimensions is for the math path, which refuses it together with is_causal.
@pytest.mark.parametrize(
    "kind, is_causal",
    [
        (kind, causal)
        for kind in SDPA_MASKS
        for causal in (False, True)
        if not (causal and kind == "float heads")
    ],
)
@pytest.mark.parametrize("scale", [None, 0.3])
def test_sdpa(kind, is_causal, scale, dtype):
    check(
        lambda *t: sdpa(*t, is_causal=is_causal, scale=scale),
        *qkv(dtype=dtype),
        *SDPA_MASKS[kind](),
    )


SHAPES = [
    (qkv(heads=6, kv_heads=2), {"enable_gqa": True}),
    (qkv(heads=6, kv_heads=1), {"enable_gqa": True}),
    (qkv(heads=6, kv_heads=1), {}),
    ([*qkv(heads=6, kv_heads=2)[:2], qkv(heads=6, kv_heads=3)[2]], {"enable_gqa": True}),
    (qkv(batch=()), {"is_causal": True}),
    (qkv(batch=(), heads=6, kv_heads=2), {"enable_gqa": True}),
    (qkv(batch=(2, 3)), {}),
    (qkv(batch=(2, 1), heads=6, kv_heads=2), {"enable_gqa": True, "is_causal": True}),
    ([t[0, 0] for t in qkv()], {"is_causal": True}),
    ([qkv()[0], *[t[:1] for t in qkv()[1:]]], {}),
    ([qkv()[0][:, :1], *qkv()[1:]], {}),
    ([qkv()[0], *[t[0] for t in qkv()[1:]]], {}),
    (qkv(value_size=6), {}),
    (qkv(queries=6, keys=2), {"is_causal": True}),
    (qkv(queries=1, keys=1), {"is_causal": True}),
    (qkv(keys=0), {}),
    (qkv(queries=0), {}),
    (qkv(), {"scale": 0.0}),
    (qkv(), {"scale": -0.5}),
    # Batch dimensions and heads broadcast as those of products do, and may be lacking.
    ([qkv()[0][0], *qkv()[1:]], {}),
    ([qkv()[0][0, 0], *qkv()[1:]], {"is_causal": True}),
    ([qkv()[0], *[t[0, 0] for t in qkv()[1:]]], {}),
    ([qkv(batch=())[0], *[t[0] for t in qkv(batch=())[1:]]], {"is_causal": True}),
    ([*[t[0, 0] for t in qkv()[:2]], qkv()[2]], {}),
    ([qkv()[0], qkv()[1][0], qkv()[2][:, :1]], {}),
    ([qkv(batch=(3, 2))[0], qkv()[1], qkv()[2][0]], {}),
    ([qkv()[0][:1], qkv()[1][:, :1], qkv(value_size=6)[2]], {}),
    ([qkv()[0][:, :1], qkv()[1][:1], qkv()[2]], {"scale": 0.3}),
    ([qkv()[0], *[t[0, :, :0] for t in qkv()[1:]]], {}),
    # What shares heads does not have to share them alike.
    ([qkv(heads=6)[0], qkv(kv_heads=1)[1], qkv(kv_heads=2)[2]], {"enable_gqa": True}),
    ([qkv(heads=6)[0], qkv(kv_heads=6)[1], qkv(kv_heads=2)[2]], {"enable_gqa": True}),
    ([qkv(heads=6)[0][0], *qkv(kv_heads=2)[1:]], {"enable_gqa": True}),
    ([qkv(heads=6)[0], qkv(kv_heads=2)[1][0], qkv(kv_heads=3)[2][0]], {"enable_gqa": True}),
    ([qkv(heads=6)[0][:1], qkv(kv_heads=2)[1], qkv(kv_heads=2)[2][:1]], {"enable_gqa": True}),
]


@pytest.mark.parametrize(
    "tensors, options",
    SHAPES,
    ids=lambda x: str(x) if isinstance(x, dict) else "x".join(str(list(t.shape)) for t in x),
)
def test_sdpa_of_other_shapes(tensors, options):
    check(lambda *t: sdpa(*t, **options), *tensors)


@pytest.mark.parametrize("queries", [qkv(batch=()), [t[0, 0] for t in qkv()], qkv(batch=(2, 3))])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_a_mask_of_one_dimension_is_for_all_rows(queries, dtype):
    """PyTorch refuses it beside a 4-D query alone."""
    mask = torch.tensor([1, 0, 1, 1, 0]).to(dtype)
    check(lambda *t: sdpa(*t), *queries, mask)


@pytest.mark.parametrize("tensors, options", SHAPES)
def test_compiled(tensors, options, use_aot):
    call = lambda *t: sdpa(*t, **options)
    compiled = Compiled(call, use_aot=use_aot)
    assert_close(compiled(*tensors), call(*tensors))
    compiled.assert_whole()


RANKS = {
    "3 x 4": [qkv()[0][0], *qkv()[1:]],
    "4 x 3": [qkv()[0], *[t[0] for t in qkv()[1:]]],
    "4 x 2": [qkv()[0], *[t[0, 0] for t in qkv()[1:]]],
    "value 4": [*[t[0] for t in qkv()[:2]], qkv()[2]],
    "one head": [qkv()[0][0, :1], *qkv()[1:]],
}
MASKS_THAT_BROADCAST = [
    [], [1], [5], [1, 1], [3, 1], [1, 5], [3, 5], [4, 3, 5], [1, 3, 5], [4, 1, 5],
    [2, 4, 3, 5], [2, 1, 1, 5], [1, 1, 1, 1], [2, 1, 3, 1],
]  # fmt: skip


@pytest.mark.parametrize("sizes", MASKS_THAT_BROADCAST, ids=str)
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32], ids=str)
@pytest.mark.parametrize("ranks", RANKS)
def test_masks_of_queries_and_keys_of_other_ranks(ranks, dtype, sizes):
    tensors = RANKS[ranks]
    mask = random(*sizes, seed=5)
    mask = mask > 0 if dtype is torch.bool else mask
    if ranks == "value 4" and len(sizes) == 4:  # scores have three dimensions
        with pytest.raises(RuntimeError, match="broadcast shape"):
            sdpa(*tensors, mask)
        return
    check(lambda *t: sdpa(*t), *tensors, mask)


@pytest.mark.parametrize("ranks", RANKS)
def test_files_of_other_ranks(ranks, tmp_path):
    """The types that a file records are those that the op gives."""
    model, tensors = Called(), (*RANKS[ranks], attended(3, 5))
    torch.export.save(torch.export.export(model, tensors), tmp_path / "model.pt2")
    loaded = unfuse.load(tmp_path / "model.pt2")
    assert_close(loaded(*tensors), model(*tensors))


class Called(torch.nn.Module):
    def forward(self, query, key, value, mask):
        return sdpa(query, key, value, mask)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_sdpa_of_symbolic_sizes(masked, is_causal):
    tensors = qkv(batch=(3,), queries=5, keys=6)
    others = qkv(batch=(4,), queries=9, keys=7)
    if masked:
        tensors, others = [*tensors, attended(3, 1, 1, 6)], [*others, attended(4, 1, 1, 7)]
    check(lambda *t: sdpa(*t, is_causal=is_causal), *tensors, tracing="symbolic", others=others)


def test_sdpa_with_dropout_stays_and_is_noted():
    opened = Opened(
        trace(lambda q, k, v: aten.scaled_dot_product_attention(q, k, v, None, 0.5), qkv())
    )
    assert opened.ops == ["aten.scaled_dot_product_attention.default"]
    assert "dropout_p is 0.5" in opened.notes[0]


def flash(q, k, v, mask=None, *, is_causal=False, scale=None):
    return aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, is_causal, attn_mask=mask, scale=scale
    )


@pytest.mark.parametrize("kind", ["none", "float", "float -inf"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("used", ["output", "logsumexp", "both"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_flash_attention_for_cpu(kind, is_causal, kv_heads, used, dtype):
    def call(*tensors):
        output, logsumexp = flash(*tensors, is_causal=is_causal, scale=0.4)
        return {"output": output, "logsumexp": logsumexp, "both": (output, logsumexp)}[used]

    check(call, *qkv(kv_heads=kv_heads, dtype=dtype), *SDPA_MASKS[kind]())


def math_attention(q, k, v, mask=None, *, is_causal=False, scale=None, enable_gqa=False):
    return aten._scaled_dot_product_attention_math(
        q, k, v, mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@pytest.mark.parametrize("kind", SDPA_MASKS)
@pytest.mark.parametrize("used", ["output", "weights", "both"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_attention_math(kind, used, dtype):
    def call(*tensors):
        output, weights = math_attention(*tensors, scale=0.4)
        return {"output": output, "weights": weights, "both": (output, weights)}[used]

    check(call, *qkv(dtype=dtype), *SDPA_MASKS[kind]())


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_attention_math_causal_and_grouped(is_causal, kv_heads):
    check(
        lambda *t: math_attention(*t, is_causal=is_causal, enable_gqa=True), *qkv(kv_heads=kv_heads)
    )


# --- The math expansion, as autograd tracing leaves it where no fused kernel applies


def spelled(function, tensors):
    """The graph below the composite op: products, mask and _safe_softmax."""
    traced = trace(function, tensors, pre_dispatch=False)
    assert any("_safe_softmax" in str(node.target) for node in traced[0].graph.nodes)
    return traced


@pytest.mark.parametrize(
    "tensors",
    [
        [t[0] for t in qkv()],
        [t[0, 0] for t in qkv()],
        qkv(batch=(2, 3)),
        qkv(value_size=6),
        [qkv()[0], *[t[:1] for t in qkv()[1:]]],
    ],
    ids=lambda x: "x".join(str(list(t.shape)) for t in x),
)
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, {"is_causal": True}], ids=str)
def test_the_math_expansion_is_recognised(tensors, options):
    call = lambda *t: sdpa(*t, **options)
    opened = check_graph(spelled(call, tensors), call, *tensors)
    assert "aten.scaled_dot_product_attention.default" in opened.ops
    assert "aten._safe_softmax.default" not in opened.ops
    attention = opened.arguments[opened.ops.index("aten.scaled_dot_product_attention.default")]
    assert attention["is_causal"] == options.get("is_causal", False)
    assert attention["attn_mask"] is None


@pytest.mark.parametrize("kind", ["bool", "float", "float -inf", "float heads"])
def test_the_math_expansion_is_recognised_with_a_mask(kind):
    (mask,) = SDPA_MASKS[kind]()
    tensors = [*[t[0] for t in qkv()], mask]
    call = lambda *t: sdpa(*t)
    opened = check_graph(spelled(call, tensors), call, *tensors)
    assert "aten._safe_softmax.default" not in opened.ops
