"""What aten._transformer_encoder_layer_fwd does on the CPU."""

import pytest
import torch
import torch.nn.functional as F
from attention_calls import EMBED, MASKS, Layer, bools, close


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
