"""What this project relies on in PyTorch 2.13, asked of PyTorch itself.

Each decomposition in src/passes/decompose repeats the meaning of one op. When a newer torch changes
one of these answers, the test that fails here names the sentence to change there.
"""

import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import nn

INF = float("inf")
aten = torch.ops.aten

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


def test_version():
    assert torch.__version__.split("+")[0] == "2.13.0"


# --- aten._native_multi_head_attention


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_attention_is_projection_scaled_softmax_projection(heads):
    op = Heads()
    out, weights = op(heads=heads, need_weights=True, average=False)
    expected, expected_weights = reference(op, op.x, op.x, op.x, heads)
    close(out, expected)
    close(weights, expected_weights)
    assert out.is_contiguous()


def test_odd_head_counts_work_in_the_op():
    op = Heads(embed=15)
    close(op(heads=3)[0], reference(op, op.x, op.x, op.x, 3)[0])


@pytest.mark.parametrize("same", ["key is value", "query is key", "all differ"])
def test_query_key_value_may_differ(same):
    op, other = Heads(), Heads(seed=1).x
    third = other if same == "key is value" else Heads(seed=2).x
    key = op.x if same == "query is key" else other
    close(op(op.x, key, third)[0], reference(op, op.x, key, third, HEADS)[0])


def test_averaged_weights_are_the_sum_over_heads_by_their_number():
    op = Heads()
    each, mean = op(need_weights=True, average=False)[1], op(need_weights=True)[1]
    assert mean.shape == (BATCH, LENGTH, LENGTH)
    assert torch.equal(mean, each.sum(1) / HEADS)


def test_without_weights_the_second_result_is_none():
    assert Heads()()[1] is None
    # So it is from a compiled graph, though a fake tensor with an empty dimension is recorded.
    op = Heads()
    assert torch.compile(lambda x: op(x), backend="aot_eager")(op.x)[1] is None


ACCEPTED_MASKS = {
    (0, (LENGTH, LENGTH)),
    (1, (BATCH, LENGTH)),
    *((kind, (BATCH, HEADS, LENGTH, LENGTH)) for kind in (None, 0, 1, 2, 3)),
}


@pytest.mark.parametrize("kind", [None, 0, 1, 2, 3])
@pytest.mark.parametrize(
    "shape",
    [
        (),
        (3,),
        (3, 3),
        (2, 3),
        (1, 3),
        (3, 1),
        (1, 1),
        (6, 6),
        (4, 3, 3),
        (1, 3, 3),
        (2, 2, 3, 3),
        (1, 2, 3, 3),
        (2, 1, 3, 3),
        (1, 1, 3, 3),
        (2, 1, 1, 3),
        (2, 2, 3, 3, 1),
    ],
    ids=str,
)
def test_which_masks_are_accepted(kind, shape):
    """A mask of rank 2 goes by its type, any other is of type 2; none broadcasts."""
    mask = torch.zeros(shape, dtype=torch.bool)
    if (kind, shape) in ACCEPTED_MASKS:
        Heads()(mask=mask, mask_type=kind)
        return
    with pytest.raises(RuntimeError, match="[Mm]ask"):
        Heads()(mask=mask, mask_type=kind)


MASKS = {
    0: (bools([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), lambda m: m),
    1: (bools([[0, 0, 1], [0, 1, 1]]), lambda m: m[:, None, None, :]),
    2: (
        torch.rand(BATCH, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(3)) < 0.3,
        lambda m: m,
    ),
}


@pytest.mark.parametrize("kind", MASKS)
def test_true_means_masked(kind):
    op = Heads()
    mask, spread = MASKS[kind]
    out, weights = op(mask=mask, mask_type=kind, need_weights=True, average=False)
    expected, expected_weights = reference(op, op.x, op.x, op.x, HEADS, spread(mask))
    close(out, expected)
    close(weights, expected_weights)


@pytest.mark.parametrize("value", [-INF, INF, 1.0, -1e-30, 1e-45, math.nan, 5.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_float_mask_masks_wherever_it_is_not_zero(value, dtype):
    mask = MASKS[1][0]
    as_float = torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, value)
    masked = as_float.ne(0)  # a tiny value may round to zero
    op = Heads()
    assert torch.equal(op(mask=as_float, mask_type=1)[0], op(mask=masked, mask_type=1)[0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16])
def test_a_mask_of_any_dtype_is_read_as_bool(dtype):
    op, mask = Heads(), MASKS[1][0]
    assert torch.equal(op(mask=mask.to(dtype), mask_type=1)[0], op(mask=mask, mask_type=1)[0])


@pytest.mark.parametrize("average", [True, False])
def test_a_row_whose_keys_are_all_masked_is_nan(average):
    mask = bools([[1, 1, 1], [0, 0, 1]])
    out, weights = Heads()(mask=mask, mask_type=1, need_weights=True, average=average)
    assert out[0].isnan().all() and not out[1].isnan().any()
    assert weights[0].isnan().all() and not weights[1].isnan().any()


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0), (0, 0)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_empty_input_gives_an_empty_result_and_no_weights_and_reads_no_mask(sizes, need_weights):
    empty = torch.empty(*sizes, EMBED)
    out, weights = Heads()(empty, need_weights=need_weights, mask=torch.zeros(5, 5).bool())
    assert out.shape == empty.shape and weights is None
    with pytest.raises(RuntimeError, match="divide evenly"):
        Heads()(empty, heads=3)


@pytest.mark.parametrize(
    "message, call",
    {
        "3-D `query`": lambda op: op(op.x[0]),
        "shapes to match": lambda op: op(op.x, torch.zeros(2, 4, EMBED)),
        "didn't match last dim": lambda op: op(embed=4),
        "divide evenly": lambda op: op(heads=3),
        "first dim to be 3x": lambda op: op(qkv_weight=torch.zeros(16, EMBED)),
        "second dim to be": lambda op: op(qkv_weight=torch.zeros(24, 4)),
        "1-D `qkv_bias`": lambda op: op(qkv_bias=torch.zeros(24, 1)),
        "first dim of query": lambda op: op(qkv_bias=torch.zeros(8)),
        "cannot be multiplied": lambda op: op(proj_weight=torch.zeros(EMBED, 5)),
        "expanded size": lambda op: op(proj_bias=torch.zeros(7)),
    }.items(),
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_the_op_refuses(message, call):
    with pytest.raises(RuntimeError, match=message):
        call(Heads())


@pytest.mark.parametrize("name", ["x", "qkv_weight", "proj_weight", "proj_bias"])
def test_mixed_dtypes_raise(name):
    op = Heads()
    setattr(op, name, getattr(op, name).half())
    with pytest.raises(RuntimeError, match="dtype"):
        op()


def test_a_packed_bias_of_another_dtype_is_read_as_bits():
    """Nobody can want this: opening refuses it."""
    op = Heads()
    wide = op.qkv_bias.double()
    as_bits = wide.view(torch.float32)[: len(wide)].nan_to_num(0)
    wide = as_bits.repeat(2).view(torch.float64)
    assert torch.equal(op(qkv_bias=wide)[0], op(qkv_bias=as_bits)[0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_only_floating_point_is_implemented(dtype):
    op = Heads(dtype=dtype)
    with pytest.raises(NotImplementedError):
        op()


def test_the_output_projection_need_not_be_square_and_its_bias_broadcasts():
    op = Heads()
    assert op(proj_weight=torch.zeros(5, EMBED), proj_bias=torch.zeros(5))[0].shape[-1] == 5
    out = op(proj_bias=torch.ones(1))[0]
    assert torch.equal(out, op(proj_bias=torch.ones(EMBED))[0])


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_sixteen_bits_keep_their_dtype_and_round_between_the_steps(dtype, tolerance):
    op = Heads(dtype=dtype)
    out, weights = op(need_weights=True)
    assert out.dtype == weights.dtype == dtype
    close(out, reference(op, op.x, op.x, op.x, HEADS)[0], tolerance)


# --- aten._transformer_encoder_layer_fwd


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


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("kind", [None, *MASKS])
def test_layer_is_attention_residual_norm_and_feed_forward(norm_first, gelu, kind):
    """Its gelu is the erf form."""
    layer, mask = Layer(), None if kind is None else MASKS[kind][0]
    out = layer(gelu=gelu, norm_first=norm_first, mask=mask, mask_type=kind)
    close(out, layer.reference(F.gelu if gelu else F.relu, norm_first, mask, kind))


def test_layer_gives_nan_for_a_fully_masked_row():
    out = Layer()(mask=bools([[0, 0, 1], [1, 1, 1]]), mask_type=1)
    assert not out[0].isnan().any() and out[1].isnan().all()


@pytest.mark.parametrize("sizes", [(0, 3, EMBED), (2, 0, EMBED), (0, 7)])
def test_layer_clones_an_empty_input_whatever_the_rest_is(sizes):
    assert Layer()(torch.empty(sizes), heads=5).shape == sizes


@pytest.mark.parametrize(
    "name",
    [
        "qkv_weight",
        "proj_weight",
        "proj_bias",
        "norm_weight_1",
        "norm_bias_1",
        "norm_weight_2",
        "norm_bias_2",
        "ffn_weight_1",
        "ffn_bias_1",
        "ffn_weight_2",
        "ffn_bias_2",
    ],
)
def test_layer_refuses_mixed_dtypes(name):
    layer = Layer()
    with pytest.raises(RuntimeError, match="[Dd]type|scalar type"):
        layer(**{name: layer.weights[name].half()})


def test_layer_takes_float_norms_in_a_sixteen_bit_model():
    layer = Layer(torch.bfloat16)
    norms = {n: t.float() for n, t in layer.weights.items() if n.startswith("norm")}
    assert layer(**norms).dtype == torch.bfloat16


def test_layer_refuses_sizes_that_the_residuals_would_broadcast():
    for replaced in (
        dict(proj_weight=torch.zeros(1, EMBED), proj_bias=torch.zeros(1)),
        dict(ffn_weight_2=torch.zeros(1, 32), ffn_bias_2=torch.zeros(1)),
    ):
        with pytest.raises(RuntimeError, match="match"):
            Layer()(**replaced)


def test_layer_result_is_contiguous_whatever_the_input_strides():
    layer = Layer()
    transposed = layer.x.transpose(0, 1).contiguous().transpose(0, 1)
    for norm_first in (False, True):
        assert layer(transposed, norm_first=norm_first).is_contiguous()


# --- Scaled dot product attention on the CPU


def qkv(batch=2, heads=2, queries=3, keys=4, size=8, kv_heads=None, dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    shape = lambda h, n: torch.randn(batch, h, n, size, generator=generator).to(dtype)
    kv_heads = kv_heads or heads
    return shape(heads, queries), shape(kv_heads, keys), shape(kv_heads, keys)


sdpa = aten.scaled_dot_product_attention
flash = aten._scaled_dot_product_flash_attention_for_cpu
math_attention = aten._scaled_dot_product_attention_math

FULLY_MASKED_ROW = bools([[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])  # True attends
FLOAT_MASK = torch.zeros(3, 4).masked_fill(~FULLY_MASKED_ROW, -INF)


@pytest.mark.parametrize(
    "call",
    [
        lambda q, k, v: sdpa(q, k, v, FULLY_MASKED_ROW),
        lambda q, k, v: sdpa(q, k, v, FLOAT_MASK),
        lambda q, k, v: sdpa(q[0], k[0], v[0], FULLY_MASKED_ROW),
        lambda q, k, v: flash(q, k, v, attn_mask=FLOAT_MASK)[0],
        lambda q, k, v: math_attention(q, k, v, FLOAT_MASK)[0],
    ],
)
def test_a_fully_masked_row_of_sdpa_is_zero(call):
    out = call(*qkv())
    assert (out[..., 1, :] == 0).all() and not out.isnan().any()


def test_the_math_op_adds_a_bool_mask_as_zeros_and_ones():
    q, k, v = qkv()
    close(
        math_attention(q, k, v, FULLY_MASKED_ROW)[0],
        math_attention(q, k, v, FULLY_MASKED_ROW.float())[0],
    )


@pytest.mark.parametrize("queries, keys", [(3, 4), (5, 2), (1, 4)])
def test_causal_is_aligned_top_left(queries, keys):
    q, k, v = qkv(queries=queries, keys=keys)
    expected = sdpa(q, k, v, torch.ones(queries, keys, dtype=torch.bool).tril())
    for out in (
        sdpa(q, k, v, None, 0.0, True),
        flash(q, k, v, 0.0, True)[0],
        math_attention(q, k, v, None, 0.0, True)[0],
    ):
        close(out, expected)


def test_causal_and_a_mask_together_are_taken_by_the_flash_path_alone():
    q, k, v = qkv()
    both = sdpa(q, k, v, FULLY_MASKED_ROW & torch.ones(3, 4, dtype=torch.bool).tril())
    close(sdpa(q, k, v, FULLY_MASKED_ROW, 0.0, True), both)
    close(flash(q, k, v, 0.0, True, attn_mask=FLOAT_MASK)[0], both)
    for refused in (
        lambda: math_attention(q, k, v, FLOAT_MASK, 0.0, True),
        lambda: sdpa(q[0], k[0], v[0], FLOAT_MASK, 0.0, True),
    ):
        with pytest.raises(RuntimeError, match="attn_mask should not be set"):
            refused()


def test_the_flash_ops_second_result():
    q, k, v = qkv()
    scores = q @ k.transpose(-1, -2) / math.sqrt(8) + FLOAT_MASK
    expected = scores.logsumexp(-1).masked_fill(~FULLY_MASKED_ROW.any(-1), 0)
    close(flash(q, k, v, attn_mask=FLOAT_MASK)[1], expected)
    for dtype, wide in (
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float64, torch.float64),
    ):
        assert flash(*qkv(dtype=dtype))[1].dtype == wide


def test_the_math_ops_second_result_is_the_weights():
    q, k, v = qkv()
    expected = (q @ k.transpose(-1, -2) / math.sqrt(8) + FLOAT_MASK).softmax(-1).nan_to_num(0)
    close(math_attention(q, k, v, FLOAT_MASK)[1], expected)


def test_scale_may_be_anything():
    q, k, v = qkv()
    for scale in (0.3, 0.0, -0.5):
        expected = (q @ k.transpose(-1, -2) * scale).softmax(-1) @ v
        close(sdpa(q, k, v, scale=scale), expected)
        close(math_attention(q, k, v, scale=scale)[0], expected)


def test_mask_shapes():
    q, k, v = qkv()
    for shape in ((3, 1), (1, 4), (3, 4), (2, 3, 4), (1, 3, 4), (2, 1, 3, 4), (2, 1, 1, 4)):
        sdpa(q, k, v, torch.ones(shape, dtype=torch.bool))
    for shape in ((), (4,), (5, 2, 2, 3, 4), (2, 4), (3, 3)):
        with pytest.raises((RuntimeError, IndexError)):
            sdpa(q, k, v, torch.ones(shape, dtype=torch.bool))
    close(math_attention(q, k, v, torch.ones(4))[0], sdpa(q, k, v))


def test_mask_dtypes():
    q, k, v = qkv()
    for dtype in (torch.float16, torch.float64, torch.int64):
        with pytest.raises(RuntimeError, match="attn_mask dtype"):
            sdpa(q, k, v, FLOAT_MASK.to(dtype))
    assert sdpa(q.half(), k.half(), v.half(), FLOAT_MASK).dtype == torch.float16


def test_grouped_heads():
    q, k, v = qkv(heads=6, kv_heads=2)
    expected = sdpa(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    close(sdpa(q, k, v, enable_gqa=True), expected)
    close(flash(q, k, v)[0], expected)
    close(sdpa(q[0], k[0], v[0], enable_gqa=True), expected[0])
    with pytest.raises(RuntimeError):
        sdpa(q, k, v)
    close(sdpa(q, k[:, :1], v[:, :1]), sdpa(q, k[:, :1], v[:, :1], enable_gqa=True))
    close(
        sdpa(q, k, v[:, :1], enable_gqa=True),
        sdpa(q, k.repeat_interleave(3, 1), v[:, :1].repeat_interleave(6, 1)),
    )
    with pytest.raises(RuntimeError, match="divide"):
        sdpa(q[:, :1], k, v, enable_gqa=True)
    with pytest.raises(IndexError):
        sdpa(q[0, 0], k[0, 0], v[0, 0], enable_gqa=True)


def test_other_ranks_and_broadcast_batches_and_value_sizes():
    q, k, v = qkv()
    expected = sdpa(q, k, v)
    close(sdpa(q[0], k[0], v[0]), expected[0])
    close(sdpa(q[0, 0], k[0, 0], v[0, 0]), expected[0, 0])
    close(sdpa(q[None], k[None], v[None]), expected[None])
    close(sdpa(q[:, :1], k, v), sdpa(q[:, :1].expand(2, 2, 3, 8), k, v))
    close(sdpa(q, k[:1], v[:1]), sdpa(q, k[:1].expand(2, 2, 4, 8), v[:1].expand(2, 2, 4, 8)))
    close(sdpa(q, k, v[..., :5]), expected[..., :5])


def test_no_keys_give_zeros():
    q, k, v = qkv()
    assert (sdpa(q, k[:, :, :0], v[:, :, :0]) == 0).all()


def test_dropout():
    q, k, v = qkv()
    with pytest.raises(RuntimeError, match="dropout"):
        flash(q, k, v, 0.5)
    assert not torch.equal(sdpa(q, k, v, None, 0.5), sdpa(q, k, v))


# --- What capture records


def calls(graph):
    return Counter(
        str(getattr(node.target, "__name__", node.target))
        for node in graph.nodes
        if node.op in ("call_function", "call_method")
    )


def captured(function, *arguments, **keywords):
    """The graphs that Dynamo hands a backend, as counters of what they call."""
    graphs = []

    def backend(module, _):
        graphs.append(calls(module.graph))
        return module.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=backend)(*arguments, **keywords)
    return graphs


def encoder(nested=True, heads=2, embed=16, **options):
    layer = nn.TransformerEncoderLayer(embed, heads, 32, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()


TOKENS = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(6))
PADDING = bools([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]])
CAUSAL = torch.triu(torch.ones(5, 5), 1).bool()
FUSED = "_transformer_encoder_layer_fwd"


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize(
    "masks, fills",
    [
        ({}, 0),
        ({"src_key_padding_mask": PADDING}, 1),
        ({"src_key_padding_mask": torch.zeros(2, 5).masked_fill(PADDING, -INF)}, 0),
        ({"mask": CAUSAL, "is_causal": True}, 1),
        ({"mask": CAUSAL, "is_causal": False}, 1),
        ({"mask": torch.zeros(5, 5).masked_fill(CAUSAL, -INF), "is_causal": True}, 0),
        ({"mask": CAUSAL, "src_key_padding_mask": PADDING, "is_causal": False}, 2),
    ],
)
def test_compile_records_one_graph_with_a_fused_op_a_layer(nested, masks, fills):
    """A bool mask reaches the op as a float one, which an in-place masked_fill_ makes."""
    (graph,) = captured(encoder(nested), TOKENS, **masks)
    assert graph[FUSED] == 2
    assert graph["masked_fill_"] == fills


@pytest.mark.parametrize("options", [{"activation": "gelu"}, {"norm_first": True}])
def test_compile_records_the_fused_op_for_both_activations_and_norm_orders(options):
    (graph,) = captured(encoder(**options), TOKENS)
    assert graph[FUSED] == 2


def test_an_odd_head_count_takes_the_slow_path_of_the_module():
    (graph,) = captured(encoder(heads=3, embed=15), torch.randn(2, 5, 15))
    assert graph[FUSED] == 0 and graph["multi_head_attention_forward"] == 2


def test_a_mask_without_is_causal_leaves_the_whole_encoder_to_eager():
    assert captured(encoder(), TOKENS, mask=CAUSAL) == []


def test_padded_rows_are_zero_in_eager_with_nested_tensors_and_computed_when_compiled():
    module = encoder()
    with torch.no_grad():
        eager = module(TOKENS, src_key_padding_mask=PADDING)
        compiled = torch.compile(module, backend="eager")(TOKENS, src_key_padding_mask=PADDING)
        module.use_nested_tensor = False
        padded = module(TOKENS, src_key_padding_mask=PADDING)
    assert (eager[PADDING] == 0).all()
    close(compiled, padded)
    close(compiled[~PADDING], eager[~PADDING])
    assert (compiled[PADDING] != 0).all()


def test_multi_head_attention_modules_no_longer_emit_the_fused_op():
    attention = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    (graph,) = captured(lambda x: attention(x, x, x, need_weights=False)[0], TOKENS)
    assert graph["multi_head_attention_forward"] == 1
    assert graph["_native_multi_head_attention"] == 0


class Exported(nn.Module):
    def __init__(self, **keywords):
        super().__init__()
        self.encoder = encoder()
        self.keywords = keywords

    def forward(self, x):
        return self.encoder(x, **self.keywords)


@pytest.mark.parametrize(
    "strict, grad, fused", [(True, False, 2), (True, True, 0), (False, False, 0), (False, True, 0)]
)
def test_export_keeps_the_fused_op_only_when_strict_and_without_grad(strict, grad, fused):
    with torch.set_grad_enabled(grad):
        program = torch.export.export(Exported().eval(), (TOKENS,), strict=strict)
    graph = calls(program.graph)
    assert graph[FUSED + ".default"] == fused
    assert graph["scaled_dot_product_attention.default"] == 2 - fused


def test_fake_tensors_take_dynamic_sizes_through_both_fused_ops():
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}

    class Fused(nn.Module):
        def forward(self, x):
            layer = Layer()
            return layer(Heads()(x)[0])

    program = torch.export.export(Fused(), (torch.randn(3, 4, EMBED),), dynamic_shapes=(dynamic,))
    graph = calls(program.graph)
    assert graph[FUSED + ".default"] == graph["_native_multi_head_attention.default"] == 1
    assert len(program.range_constraints) == 2


def aot_calls(function, *arguments):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    graphs = []

    def compiler(module, _):
        graphs.append(calls(module.graph))
        return make_boxed_func(module.forward)

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=compiler, inference_compiler=compiler)
    with torch.no_grad():
        torch.compile(function, backend=backend)(*arguments)
    (graph,) = graphs
    return graph


def test_which_form_of_sdpa_autograd_tracing_gives():
    q, k, v = qkv()
    assert aot_calls(sdpa, q, k, v)["_scaled_dot_product_flash_attention_for_cpu.default"] == 1
    masked = aot_calls(sdpa, q, k, v, FULLY_MASKED_ROW)
    assert masked["_scaled_dot_product_flash_attention_for_cpu.default"] == 1
    assert masked["where.self"] == 1
    spelled = aot_calls(sdpa, q[0], k[0], v[0])
    assert (
        spelled["_safe_softmax.default"] == 1
        and spelled["mul.Scalar"] == spelled["bmm.default"] == 2
    )
    assert aot_calls(sdpa, q[0, 0], k[0, 0], v[0, 0])["mm.default"] == 2
