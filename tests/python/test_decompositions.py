"""Each decomposition against the op that it opens.

The op is traced, opened by the passes in C++ and written back as ATen ops alone, which torch then
runs: what is compared is the decomposition, not our kernels.
"""

import math

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from unfuse import _unfuse
from unfuse.compiled_graph import CompiledGraph
from unfuse.errors import Error
from unfuse.fx_import import GraphInput, import_graph

aten = torch.ops.aten
INF = math.inf
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
FUSED = {
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
    "attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math",
}


class Opened:
    """A function's graph with its fused ops opened, as something to call."""

    def __init__(self, function, *tensors, rows="op", tracing="fake"):
        with torch.no_grad():
            module = make_fx(function, tracing_mode=tracing, pre_dispatch=True)(*tensors)
        self._sizes = declare_symbols(module)
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        imported = import_graph(module, [GraphInput("user", node.name) for node in placeholders])
        compiled = _unfuse.open_for_torch(imported.graph, rows)
        self.ops = [piece.op for piece in compiled.pieces]
        self.arguments = [
            {name: value for name, _, value in piece.arguments} for piece in compiled.pieces
        ]
        self.opened = dict(compiled.report.opened)
        self.notes = list(compiled.report.notes)
        self._run = CompiledGraph(compiled, imported)

    def __call__(self, *tensors):
        sizes = [tensors[index].shape[dimension] for index, dimension in self._sizes]
        with torch.no_grad():
            return self._run([*sizes, *tensors])


def declare_symbols(module):
    """Gives a graph an input for each symbolic size, as Dynamo does; returns where they are found:
    (index of the tensor, dimension)."""
    tensors = [node for node in module.graph.nodes if node.op == "placeholder"]
    found = {}
    for index, node in enumerate(tensors):
        for dimension, size in enumerate(node.meta["val"].shape):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                found.setdefault(str(size), (size, index, dimension))
    for name, (size, _, _) in found.items():
        with module.graph.inserting_before(tensors[0]):
            module.graph.placeholder(name).meta["val"] = size
    return [place[1:] for place in found.values()]


def run(function, tensors):
    """The results as a list, computed without the kernels that only a GPU has."""
    with torch.no_grad(), sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        results = function(*tensors)
    return [results] if isinstance(results, torch.Tensor) else list(results)


def compare(function, opened, tensors):
    """What is opened is as close to float64 as the op is: at most twice its error, and four
    roundings of the largest element."""
    expected = run(function, tensors)
    exact = run(function, [t.double() if t.is_floating_point() else t for t in tensors])
    actual = opened(*tensors)
    assert len(actual) == len(expected)
    for ours, eager, reference in zip(actual, expected, exact):
        if eager is None:
            assert ours is None
            continue
        assert ours.dtype == eager.dtype and ours.shape == eager.shape
        assert torch.equal(ours.isnan(), eager.isnan())
        if not ours.numel():
            continue
        rounding = 4 * torch.finfo(ours.dtype).eps * reference.nan_to_num(0).abs().max()
        ours, eager, reference = (t.double().nan_to_num(0) for t in (ours, eager, reference))
        error, of_eager = (ours - reference).abs().max(), (eager - reference).abs().max()
        assert error <= 2 * of_eager + rounding


def check(function, *tensors, rows="op", tracing="fake"):
    """The opened graph gives what the function gives, and holds nothing fused."""
    opened = Opened(function, *tensors, rows=rows, tracing=tracing)
    assert not [op for op in opened.ops if op.split(".")[1] in FUSED], opened.ops
    compare(function, opened, tensors)
    return opened


def random(*sizes, dtype=torch.float32, seed=0):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


# --- Masks of the fused multi-head ops: (type, mask)


def bool_mask(*sizes):
    """About a third is masked, in no row all."""
    mask = torch.rand(*sizes, generator=torch.Generator().manual_seed(1)) < 0.35
    mask[..., 0] = False
    return mask


def mask_of(kind, batch, length, heads):
    name, _, look = kind.partition(" ")
    sizes = {"source": (length, length), "padding": (batch, length)}.get(
        name, (batch, heads, length, length)
    )
    masked = bool_mask(*sizes)
    mask_type = {"source": 0, "padding": 1, "full": 2, "untyped": None}[name]
    if look == "float":
        return torch.zeros(sizes).masked_fill(masked, -INF), mask_type
    if look == "biased":  # numbers that the op reads as "masked"
        return torch.where(masked, random(*sizes, seed=9), 0.0), mask_type
    return masked, mask_type


MASKS = [
    "none",
    "source",
    "padding",
    "full",
    "untyped",
    "source float",
    "padding float",
    "full float",
    "padding biased",
    "full biased",
]


def masks(kind, batch, length, heads):
    """A list of the mask, empty without one, and its type."""
    if kind == "none":
        return [], None
    mask, mask_type = mask_of(kind, batch, length, heads)
    return [mask], mask_type


# --- aten._native_multi_head_attention


def attention_weights(embed, dtype):
    return [
        random(*sizes, seed=seed).mul(0.4).to(dtype)
        for seed, sizes in enumerate(
            [(3 * embed, embed), (3 * embed,), (embed, embed), (embed,)], 10
        )
    ]


def check_attention(
    kind,
    *,
    batch=2,
    length=5,
    embed=12,
    heads=2,
    dtype=torch.float32,
    inputs="self",
    need_weights=False,
    average=True,
    rows="op",
    tracing="fake",
    mask=None,
    mask_type=None,
):
    if mask is None:
        mask, mask_type = masks(kind, batch, length, heads)
    x, y, z = (random(batch, length, embed, dtype=dtype, seed=seed) for seed in range(3))
    tensors = {"self": [x], "key is value": [x, y], "all differ": [x, y, z]}[inputs]
    weights = attention_weights(embed, dtype)

    def call(*arguments):
        q, k, v = {1: lambda q: (q, q, q), 2: lambda q, k: (q, k, k), 3: lambda *a: a}[
            len(tensors)
        ](*arguments[: len(tensors)])
        given = arguments[len(tensors) + 4 :]
        return aten._native_multi_head_attention(
            q,
            k,
            v,
            embed,
            heads,
            *arguments[len(tensors) : len(tensors) + 4],
            given[0] if given else None,
            need_weights,
            average,
            mask_type,
        )

    opened = check(call, *tensors, *weights, *mask, rows=rows, tracing=tracing)
    assert opened.opened == {"aten._native_multi_head_attention.default": 1}
    assert bool(opened.notes) == ("float" in kind or "biased" in kind)
    return opened


WEIGHTS = {
    "no weights": {},
    "averaged": {"need_weights": True},
    "each head": {"need_weights": True, "average": False},
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", MASKS)
def test_attention(kind, weights, dtype):
    check_attention(kind, dtype=dtype, **WEIGHTS[weights])


@pytest.mark.parametrize("batch, length", [(2, 5), (1, 5), (2, 1)])
@pytest.mark.parametrize("heads", [1, 3, 4])
@pytest.mark.parametrize("inputs", ["self", "key is value", "all differ"])
@pytest.mark.parametrize("kind", ["none", "source", "padding", "full", "full float"])
def test_attention_of_other_sizes_and_inputs(kind, inputs, heads, batch, length):
    check_attention(kind, batch=batch, length=length, heads=heads, inputs=inputs)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_attention_float64(weights):
    check_attention("padding", dtype=torch.float64, **WEIGHTS[weights])


HIDDEN_ROWS = torch.tensor([[True] * 5, [False, False, True, True, False]])


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("look", ["bool", "float"])
def test_attention_gives_nan_for_a_fully_masked_row(look, weights):
    mask = HIDDEN_ROWS
    if look == "float":
        mask = torch.zeros(2, 5).masked_fill(mask, -INF)
    check_attention("padding " + look, mask=[mask], mask_type=1, **WEIGHTS[weights])


@pytest.mark.parametrize("weights", WEIGHTS)
def test_attention_gives_zeros_for_a_fully_masked_row_on_demand(weights):
    x, parts = random(2, 5, 12), attention_weights(12, torch.float32)
    options = WEIGHTS[weights]

    def call(x, mask, *parts):
        return aten._native_multi_head_attention(
            x,
            x,
            x,
            12,
            2,
            *parts,
            mask,
            options.get("need_weights", False),
            options.get("average", True),
            1,
        )

    opened = Opened(call, x, HIDDEN_ROWS, *parts, rows="zero")
    out, weights = opened(x, HIDDEN_ROWS, *parts)
    torch.testing.assert_close(out[0], parts[3].expand(5, 12))  # the projection of zeros
    expected = call(x, HIDDEN_ROWS, *parts)
    torch.testing.assert_close(out[1], expected[0][1])
    if weights is not None:
        assert (weights[0] == 0).all()
        torch.testing.assert_close(weights[1], expected[1][1])


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0)])
@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_of_nothing(sizes, need_weights):
    check_attention("none", batch=sizes[0], length=sizes[1], need_weights=need_weights)


@pytest.mark.parametrize("kind", ["none", "source", "padding", "full float"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_attention_of_symbolic_sizes(kind, weights):
    check_attention(kind, tracing="symbolic", **WEIGHTS[weights])


def test_attention_with_a_rectangular_projection_and_one_bias_for_all():
    x, parts = random(2, 5, 12), attention_weights(12, torch.float32)
    parts[2], parts[3] = random(7, 12), random(1)
    check(
        lambda x, *parts: aten._native_multi_head_attention(x, x, x, 12, 2, *parts, None, False)[0],
        x,
        *parts,
    )


# --- aten._transformer_encoder_layer_fwd


def layer_weights(embed, forward, dtype):
    sizes = [
        (3 * embed, embed),
        (3 * embed,),
        (embed, embed),
        (embed,),
        *[(embed,)] * 4,
        (forward, embed),
        (forward,),
        (embed, forward),
        (embed,),
    ]
    return [random(*size, seed=seed).mul(0.4).to(dtype) for seed, size in enumerate(sizes, 20)]


def check_layer(
    kind,
    *,
    batch=2,
    length=5,
    embed=12,
    heads=2,
    gelu=False,
    norm_first=False,
    dtype=torch.float32,
    tracing="fake",
    mask=None,
    mask_type=None,
    eps=1e-5,
):
    if mask is None:
        mask, mask_type = masks(kind, batch, length, heads)

    def call(x, *arguments):
        w = arguments[:12]
        return aten._transformer_encoder_layer_fwd(
            x,
            embed,
            heads,
            *w[:4],
            gelu,
            norm_first,
            eps,
            *w[4:],
            arguments[12] if mask else None,
            mask_type,
        )

    x = random(batch, length, embed, dtype=dtype)
    opened = check(call, x, *layer_weights(embed, 20, dtype), *mask, tracing=tracing)
    assert opened.opened == {"aten._transformer_encoder_layer_fwd.default": 1}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("kind", MASKS)
def test_layer(kind, gelu, norm_first, dtype):
    check_layer(kind, gelu=gelu, norm_first=norm_first, dtype=dtype)


@pytest.mark.parametrize("batch, length, heads", [(1, 5, 3), (2, 1, 1), (1, 1, 4), (3, 7, 6)])
@pytest.mark.parametrize("kind", ["none", "source", "padding", "full"])
def test_layer_of_other_sizes(kind, batch, length, heads):
    check_layer(kind, batch=batch, length=length, heads=heads, eps=1e-3)


def test_layer_gives_nan_for_a_fully_masked_row():
    check_layer("padding", mask=[HIDDEN_ROWS], mask_type=1)


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0)])
def test_layer_of_nothing(sizes):
    check_layer("none", batch=sizes[0], length=sizes[1])


@pytest.mark.parametrize("kind", ["none", "source", "padding"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_layer_of_symbolic_sizes(kind, norm_first):
    check_layer(kind, norm_first=norm_first, tracing="symbolic")


def test_layer_in_bfloat16_with_float_norms():
    weights = layer_weights(12, 20, torch.bfloat16)
    weights[4:8] = [w.float() for w in weights[4:8]]
    check(
        lambda x, *w: aten._transformer_encoder_layer_fwd(
            x, 12, 2, *w[:4], True, False, 1e-5, *w[4:]
        ),
        random(2, 5, 12, dtype=torch.bfloat16),
        *weights,
    )


# --- Masks as modules make them: a bool mask becomes a float one before the op sees it.


def canonical(mask):
    return torch.zeros_like(mask, dtype=torch.float32).masked_fill_(mask, -INF)


@pytest.mark.parametrize("source", ["bool", "float"])
def test_the_masks_that_modules_merge_come_apart_again(source):
    x, weights = random(2, 5, 12), layer_weights(12, 20, torch.float32)

    def call(x, padding, *w):
        if source == "bool":
            causal = canonical(torch.ones(5, 5, dtype=torch.bool).triu(1))
        else:
            causal = torch.triu(torch.full((5, 5), -INF), diagonal=1)
        merged = causal.view(1, 1, 5, 5).expand(2, 2, -1, -1)
        merged = merged + canonical(padding).view(2, 1, 1, 5).expand(-1, 2, -1, -1)
        return aten._transformer_encoder_layer_fwd(
            x, 12, 2, *w[:4], False, False, 1e-5, *w[4:], merged, 2
        )

    padding = torch.tensor([[False, False, False, True, True], [False] * 5])
    opened = check(call, x, padding, *weights)
    assert opened.notes == []
    assert not {"aten.ne.Scalar", "aten.masked_fill.Scalar", "aten.add.Scalar"} & set(opened.ops)


# --- Scaled dot-product attention


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


@pytest.mark.parametrize(
    "tensors, options",
    [
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
    ],
    ids=lambda x: str(x) if isinstance(x, dict) else "x".join(str(list(t.shape)) for t in x),
)
def test_sdpa_of_other_shapes(tensors, options):
    check(lambda *t: sdpa(*t, **options), *tensors)


@pytest.mark.parametrize("kind", ["none", "bool padding", "float -inf"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_sdpa_of_symbolic_sizes(kind, is_causal):
    check(lambda *t: sdpa(*t, is_causal=is_causal), *qkv(), *SDPA_MASKS[kind](), tracing="symbolic")


def test_sdpa_with_dropout_stays_and_is_noted():
    opened = Opened(lambda q, k, v: aten.scaled_dot_product_attention(q, k, v, None, 0.5), *qkv())
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


def spelled(function, *tensors, tracing="fake"):
    """The graph below the composite op: products, mask and _safe_softmax."""
    with torch.no_grad():
        module = make_fx(function, tracing_mode=tracing)(*tensors)
    assert any("_safe_softmax" in str(node.target) for node in module.graph.nodes)
    return module


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
    opened = Opened(spelled(call, *tensors), *tensors)
    assert "aten.scaled_dot_product_attention.default" in opened.ops
    assert "aten._safe_softmax.default" not in opened.ops
    attention = opened.arguments[opened.ops.index("aten.scaled_dot_product_attention.default")]
    assert attention["is_causal"] == options.get("is_causal", False)
    assert attention["attn_mask"] is None
    compare(call, opened, tensors)


@pytest.mark.parametrize("kind", ["bool", "float", "float -inf", "float heads"])
def test_the_math_expansion_is_recognised_with_a_mask(kind):
    (mask,) = SDPA_MASKS[kind]()
    tensors = [*[t[0] for t in qkv()], mask]
    opened = Opened(spelled(lambda *t: sdpa(*t), *tensors), *tensors)
    assert "aten._safe_softmax.default" not in opened.ops
    compare(sdpa, opened, tensors)


# --- What the ops refuse, opening refuses


@pytest.mark.parametrize(
    "change",
    [
        {"heads": 5},
        {"mask": (torch.zeros(5, 5).bool(), None)},
        {"mask": (torch.zeros(5, 5).bool(), 1)},
        {"mask": (torch.zeros(2, 1, 5, 5).bool(), 2)},
        {"mask": (torch.zeros(5).bool(), 2)},
        {"embed": 6},
    ],
    ids=lambda c: str(list(c)),
)
def test_what_the_op_refuses_is_refused(change):
    heads, embed = change.get("heads", 2), change.get("embed", 12)
    mask, mask_type = change.get("mask", (None, None))
    x, parts = random(2, 5, 12), attention_weights(12, torch.float32)

    def call(x, *parts):
        return aten._native_multi_head_attention(
            x,
            x,
            x,
            embed,
            heads,
            *parts[:4],
            parts[4] if mask is not None else None,
            False,
            True,
            mask_type,
        )[0]

    tensors = [x, *parts, *([] if mask is None else [mask])]
    with pytest.raises(RuntimeError):
        call(*tensors)
    with pytest.raises(Error):
        Opened(call, *tensors)
