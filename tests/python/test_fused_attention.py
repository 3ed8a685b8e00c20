"""The fused ops by direct call, against the real ones, over what they take."""

import itertools

import pytest
import torch
from compiling import Compiled, assert_close

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
MASKS = ["none", "square", "padding", "full", "float square"]


def _mask(kind, batch, heads, length, dtype):
    """(mask, its type) as the ops take them: True means masked."""
    generator = torch.Generator().manual_seed(3)

    def random(*sizes):
        mask = torch.rand(*sizes, generator=generator) < 0.3
        mask[..., 0] = False
        return mask

    if kind == "none":
        return None, None
    if kind == "square":
        return random(length, length), 0
    if kind == "padding":
        return random(batch, length), 1
    if kind == "full":
        return random(batch, heads, length, length), 2
    return random(length, length).to(dtype), 0


def _attention_inputs(batch, length, heads, width, dtype):
    x = torch.randn(batch, length, width).to(dtype)
    weights = [
        (torch.randn(3 * width, width) * 0.1).to(dtype),
        (torch.randn(3 * width) * 0.1).to(dtype),
        (torch.randn(width, width) * 0.1).to(dtype),
        (torch.randn(width) * 0.1).to(dtype),
    ]
    return x, weights


def _check(function, arguments, use_aot, op):
    compiled = Compiled(function, use_aot=use_aot)
    actual, expected = compiled(*arguments), function(*arguments)
    compiled.assert_whole()
    assert compiled.report.opened == {op: 1}
    for mine, theirs in zip(actual, expected, strict=True):
        if theirs is None:
            assert mine is None
        else:
            assert_close(mine, theirs)


SHAPES = [(2, 5, 4, 32), (1, 1, 2, 16), (3, 4, 3, 24), (1, 6, 1, 8)]
GRID = [
    *itertools.product(MASKS, [(False, True)], DTYPES, SHAPES[:1]),
    *itertools.product(MASKS, [(True, True), (True, False)], DTYPES, SHAPES[:1]),
    *itertools.product(MASKS, [(False, True), (True, False)], DTYPES[:1], SHAPES[1:]),
]


@pytest.mark.parametrize("kind, weights, dtype, shape", GRID)
def test_multi_head_attention(kind, weights, dtype, shape):
    batch, length, heads, width = shape
    x, parameters = _attention_inputs(batch, length, heads, width, dtype)
    mask, mask_type = _mask(kind, batch, heads, length, dtype)
    need_weights, average = weights

    def attend(x, *parameters):
        return torch._native_multi_head_attention(
            x, x, x, width, heads, *parameters, mask, need_weights, average, mask_type
        )

    # The two paths share all but the capture: they take turns.
    use_aot = (len(kind) + length + need_weights) % 2 == 0
    _check(attend, (x, *parameters), use_aot, "aten._native_multi_head_attention.default")


@pytest.mark.parametrize("need_weights", [True, False])
def test_three_different_inputs(need_weights, use_aot):
    x, parameters = _attention_inputs(2, 5, 4, 32, torch.float32)
    key, value = torch.randn_like(x), torch.randn_like(x)

    def attend(x, key, value, *parameters):
        return torch._native_multi_head_attention(
            x, key, value, 32, 4, *parameters, None, need_weights, True, None
        )

    arguments = (x, key, value, *parameters)
    _check(attend, arguments, use_aot, "aten._native_multi_head_attention.default")


def _layer_arguments(length, heads, width, dtype, batch=2):
    x, attention = _attention_inputs(batch, length, heads, width, dtype)
    rest = [torch.randn(width) for _ in range(4)]
    rest += [torch.randn(2 * width, width) * 0.1, torch.randn(2 * width)]
    rest += [torch.randn(width, 2 * width) * 0.1, torch.randn(width)]
    return x, [*attention, *(tensor.to(dtype) for tensor in rest)]


LAYER_GRID = [
    *itertools.product(MASKS, [False, True], [False, True], DTYPES[:1], SHAPES[:1]),
    *itertools.product(MASKS, [False], [True], DTYPES[1:], SHAPES[:1]),
    *itertools.product(MASKS, [True], [True], DTYPES[:1], SHAPES[1:]),
]


@pytest.mark.parametrize("kind, norm_first, use_gelu, dtype, shape", LAYER_GRID)
def test_encoder_layer(kind, norm_first, use_gelu, dtype, shape):
    batch, length, heads, width = shape
    x, parameters = _layer_arguments(length, heads, width, dtype, batch)
    mask, mask_type = _mask(kind, batch, heads, length, dtype)

    def layer(x, *p):
        result = torch._transformer_encoder_layer_fwd(
            x, width, heads, *p[:4], use_gelu, norm_first, 1e-5, *p[4:], mask, mask_type
        )
        return (result,)

    use_aot = (len(kind) + length + norm_first + use_gelu) % 2 == 0
    _check(layer, (x, *parameters), use_aot, "aten._transformer_encoder_layer_fwd.default")


def test_empty_input(use_aot):
    x, parameters = _attention_inputs(0, 5, 4, 32, torch.float32)

    def attend(x, *parameters):
        return torch._native_multi_head_attention(x, x, x, 32, 4, *parameters)

    result, weights = Compiled(attend, use_aot=use_aot)(x, *parameters)
    assert result.shape == (0, 5, 32)
    assert weights is None
