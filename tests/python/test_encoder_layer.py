"""nn.TransformerEncoderLayer and nn.TransformerEncoder through torch.compile."""

import models
import pytest
import torch
from compiling import Compiled, assert_close, captured
from torch import nn

LAYER = "aten._transformer_encoder_layer_fwd.default"
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
BATCH, LENGTH, WIDTH, HEADS = 2, 7, 64, 4


def encoder_layer(dtype, **options):
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 128, batch_first=True, **options)
    return layer.to(dtype).eval()


def layer_masks(kind):
    padding = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    padding[1, 4:] = True
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    return {
        "none": {},
        "padding": {"src_key_padding_mask": padding},
        "causal": {"src_mask": causal, "is_causal": True},
        "square": {"src_mask": causal.flip(0, 1)},
        "both": {"src_mask": causal, "src_key_padding_mask": padding},
    }[kind]


@pytest.mark.parametrize("kind", ["none", "padding", "causal", "square", "both"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layer_is_one_partition(dtype, kind, use_aot):
    layer, x = encoder_layer(dtype), torch.randn(BATCH, LENGTH, WIDTH, dtype=dtype)
    compiled = Compiled(layer, use_aot=use_aot)
    result = compiled(x, **layer_masks(kind))
    compiled.assert_whole()
    assert compiled.report.opened == {LAYER: 1}
    assert result.dtype == dtype
    assert_close(result, layer(x, **layer_masks(kind)))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_forms_of_the_layer(norm_first, activation, use_aot):
    layer = encoder_layer(torch.float32, norm_first=norm_first, activation=activation)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    compiled = Compiled(layer, use_aot=use_aot)
    assert_close(compiled(x), layer(x))
    compiled.assert_whole()


@pytest.mark.parametrize("kind", ["padding", "causal"])
@pytest.mark.parametrize("nested", [True, False])
def test_masked_encoder_is_one_graph(nested, kind, use_aot):
    model = models.encoder(2, WIDTH, HEADS, 128, enable_nested_tensor=nested)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    masks = layer_masks(kind)
    if "src_mask" in masks:
        masks["mask"] = masks.pop("src_mask")
    compiled = Compiled(model, use_aot=use_aot)
    result = compiled(x, **masks)
    compiled.assert_whole()
    assert compiled.report.opened == {LAYER: 2}
    assert_close(result, captured(model, x, **masks))
    noted = any("padded rows" in note for note in compiled.report.notes)
    assert noted == (nested and kind == "padding")


def _padded():
    padding = torch.zeros(3, LENGTH, dtype=torch.bool)
    padding[1, 4:] = True
    padding[2, 1:] = True
    return padding


@pytest.mark.parametrize("final_norm", [False, True])
def test_padded_rows_can_be_zero_as_in_eager(final_norm, use_aot):
    model = models.encoder(2, WIDTH, HEADS, 128)
    if final_norm:
        model.norm = nn.LayerNorm(WIDTH)
        nn.init.normal_(model.norm.bias)
    x, padding = torch.randn(3, LENGTH, WIDTH), _padded()
    compiled = Compiled(model, use_aot=use_aot, padded_rows="zero")
    result = compiled(x, src_key_padding_mask=padding)
    compiled.assert_whole()
    assert_close(result, model(x, src_key_padding_mask=padding))


def test_padded_rows_are_computed_when_padding_is_not_at_the_end(use_aot):
    # Eager then takes the path without nested tensors.
    model = models.encoder(2, WIDTH, HEADS, 128)
    x, padding = torch.randn(3, LENGTH, WIDTH), _padded().flip(1)
    compiled = Compiled(model, use_aot=use_aot, padded_rows="zero")
    assert_close(compiled(x, src_key_padding_mask=padding), model(x, src_key_padding_mask=padding))


def test_fully_masked_rows(use_aot):
    layer, x = encoder_layer(torch.float32), torch.randn(BATCH, LENGTH, WIDTH)
    padding = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    padding[1] = True
    by_op = Compiled(layer, use_aot=use_aot)(x, src_key_padding_mask=padding)
    assert torch.isnan(by_op[1]).all()
    assert_close(by_op, layer(x, src_key_padding_mask=padding))
    zero = Compiled(layer, use_aot=use_aot, fully_masked_rows="zero")
    result = zero(x, src_key_padding_mask=padding)
    zero.assert_whole()
    assert not torch.isnan(result).any()
    assert_close(result[0], by_op[0])


def test_float_mask_is_noted(use_aot):
    layer, x = encoder_layer(torch.float32), torch.randn(BATCH, LENGTH, WIDTH)
    bias = torch.randn(LENGTH, LENGTH)
    compiled = Compiled(layer, use_aot=use_aot)
    compiled(x, src_mask=bias)
    assert any("mask" in note for note in compiled.report.notes)


def test_inference_mode_and_no_parameter_that_wants_a_gradient(use_aot):
    layer, x = encoder_layer(torch.float32), torch.randn(BATCH, LENGTH, WIDTH)
    expected = layer(x)
    with torch.inference_mode():
        compiled = Compiled(layer, use_aot=use_aot)
        result = compiled(x)
        assert result.is_inference()
        assert_close(result, expected)
        compiled.assert_whole()
    layer.requires_grad_(False)
    with torch.enable_grad():
        compiled = Compiled(layer, use_aot=use_aot)
        assert_close(compiled(x), expected)
        compiled.assert_whole()
