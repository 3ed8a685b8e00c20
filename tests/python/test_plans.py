"""The steps that layers of known models are run in: fusion is seen here."""

import models
import pytest
import torch
from compiling import Compiled, assert_close, plan_steps

WIDTH, HEADS = 64, 4
X = torch.randn(2, 9, WIDTH, generator=torch.Generator().manual_seed(5))


NORM_FIRST = [
    "aten.layer_norm.default",
    "aten.linear.default",  # query, key and value
    "unfuse.attention",
    "unfuse.linear",  # of the heads, and the residual
    "aten.layer_norm.default",
    "unfuse.linear",  # relu or gelu
    "unfuse.linear",  # and the residual
]
NORM_LAST = [*NORM_FIRST[1:], NORM_FIRST[0]]


def _encoder(**options):
    return models.encoder(1, WIDTH, HEADS, 128, **options)


def test_encoder_layer(use_aot):
    assert plan_steps(_encoder(), X, use_aot=use_aot) == NORM_LAST


def test_encoder_layer_that_norms_first(use_aot):
    model = _encoder(norm_first=True, activation="gelu")
    assert plan_steps(model, X, use_aot=use_aot) == NORM_FIRST


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sixteen_bits_are_converted_at_the_ends_only(dtype, use_aot):
    wide = plan_steps(_encoder(), X, use_aot=use_aot)
    narrow = _encoder(dtype=dtype)
    steps = plan_steps(narrow, X.to(dtype), use_aot=use_aot, arithmetic="float32")
    convert = "aten._to_copy.default (copy)"
    assert steps == [convert, *wide, convert]
    # A layer that multiplies in bfloat16 rounds what it reads itself.
    fastest = plan_steps(narrow, X.to(dtype), use_aot=use_aot)
    plain, ours = "aten.linear.default", "unfuse.linear"
    assert [step.replace(plain, ours) for step in steps] == [
        step.replace(plain, ours) for step in fastest
    ]


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_fusion_changes_nothing(norm_first, activation, use_aot, monkeypatch):
    model = _encoder(norm_first=norm_first, activation=activation)
    fused = Compiled(model, use_aot=use_aot)(X)
    steps = plan_steps(model, X, use_aot=use_aot)
    monkeypatch.setenv("UNFUSE_SKIP_FUSION", "all")
    assert len(plan_steps(model, X, use_aot=use_aot)) > len(steps)
    assert_close(fused, Compiled(model, use_aot=use_aot)(X), rtol=1e-5, atol=2e-6)


def test_vision_block(use_aot):
    # nn.MultiheadAttention turns batch and length round, and back: no row is moved for that.
    block = models.VisionBlock(WIDTH, HEADS, 128).eval().requires_grad_(False)
    assert plan_steps(block, X, use_aot=use_aot) == NORM_FIRST
    assert_close(Compiled(block, use_aot=use_aot)(X), block(X))


def test_bert_layer(use_aot):
    # Its attention is spelled out.
    layer = models.bert_like(layers=1).layers[0]
    x = torch.randn(2, 12, 128)
    mask = torch.zeros(2, 1, 1, 12)
    mask[1, ..., 7:] = torch.finfo(torch.float32).min
    assert plan_steps(layer, x, mask, use_aot=use_aot) == NORM_LAST
    compiled = Compiled(layer, use_aot=use_aot)
    assert_close(compiled(x, mask), layer(x, mask))
    compiled.assert_whole()
