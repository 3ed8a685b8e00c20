"""The fused multi-head ops, opened, against the ops themselves."""

import math

import pytest
import torch
from opened_graph import Opened, bool_mask, check, random, trace
from unfuse.errors import Error

aten = torch.ops.aten
INF = math.inf
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


# --- Masks of the fused multi-head ops: (type, mask)


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


def attention_case(
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
    mask=None,
):
    """A call of the op, and the tensors that it takes."""
    given, mask_type = masks(kind, batch, length, heads) if mask is None else ([mask], 1)
    x, y, z = (random(batch, length, embed, dtype=dtype, seed=seed) for seed in range(3))
    tensors = {"self": [x], "key is value": [x, y], "all differ": [x, y, z]}[inputs]
    count = len(tensors)

    def call(*arguments):
        query = arguments[0]
        key = arguments[min(1, count - 1)]
        value = arguments[count - 1]
        weights, masked = arguments[count : count + 4], arguments[count + 4 :]
        return aten._native_multi_head_attention(
            query,
            key,
            value,
            embed,
            heads,
            *weights,
            masked[0] if masked else None,
            need_weights,
            average,
            mask_type,
        )

    return call, [*tensors, *attention_weights(embed, dtype), *given]


def check_attention(kind, **options):
    call, tensors = attention_case(kind, **options)
    opened = check(call, *tensors)
    assert opened.opened == {"aten._native_multi_head_attention.default": 1}
    assert bool(opened.notes) == ("float" in kind or "biased" in kind)


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
    check_attention("padding " + look, mask=mask, **WEIGHTS[weights])


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

    opened = Opened(trace(call, [x, HIDDEN_ROWS, *parts]), rows="zero")
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
    call, tensors = attention_case(kind, batch=3, length=5, **WEIGHTS[weights])
    _, others = attention_case(kind, batch=4, length=7, **WEIGHTS[weights])
    check(call, *tensors, tracing="symbolic", others=others)


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


def layer_case(
    kind,
    *,
    batch=2,
    length=5,
    embed=12,
    heads=2,
    gelu=False,
    norm_first=False,
    dtype=torch.float32,
    mask=None,
    eps=1e-5,
):
    """A call of the op, and the tensors that it takes."""
    given, mask_type = masks(kind, batch, length, heads) if mask is None else ([mask], 1)

    def call(x, *arguments):
        weights, masked = arguments[:12], arguments[12:]
        return aten._transformer_encoder_layer_fwd(
            x,
            embed,
            heads,
            *weights[:4],
            gelu,
            norm_first,
            eps,
            *weights[4:],
            masked[0] if masked else None,
            mask_type,
        )

    x = random(batch, length, embed, dtype=dtype)
    return call, [x, *layer_weights(embed, 20, dtype), *given]


def check_layer(kind, **options):
    call, tensors = layer_case(kind, **options)
    opened = check(call, *tensors)
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
    check_layer("padding", mask=HIDDEN_ROWS)


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0)])
def test_layer_of_nothing(sizes):
    check_layer("none", batch=sizes[0], length=sizes[1])


@pytest.mark.parametrize("kind", ["none", "source", "padding"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_layer_of_symbolic_sizes(kind, norm_first):
    call, tensors = layer_case(kind, batch=3, length=5, norm_first=norm_first)
    _, others = layer_case(kind, batch=4, length=7, norm_first=norm_first)
    check(call, *tensors, tracing="symbolic", others=others)


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
        Opened(trace(call, tensors))
