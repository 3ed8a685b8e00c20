"""The option `arithmetic`: what models of bfloat16 are multiplied in."""

import models
import pytest
import torch
import unfuse
from accuracy import assert_as_accurate
from compiling import Compiled, assert_close
from torch import nn

WIDTH, HEADS, LENGTH = 64, 4, 70


class PooledEncoder(nn.Module):
    """What padding cannot reach: its rows are left out."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, is_padding):
        y = self.encoder(x, src_key_padding_mask=is_padding)
        real = (~is_padding)[..., None].to(y.dtype)
        return (y * real).sum(1) / real.sum(1)


def compile_or_refuse(model, *inputs, arithmetic, **options):
    """None where the machine cannot, after the error was seen to say so."""
    compiled = Compiled(model, arithmetic=arithmetic, **options)
    try:
        compiled(*inputs)
    except Exception as error:
        assert arithmetic == "bfloat16"
        assert "does not multiply bfloat16" in str(error)
        return None
    compiled.assert_whole()
    return compiled


@pytest.mark.parametrize("arithmetic", ["fastest", "float32", "bfloat16"])
def test_encoder_is_as_accurate_as_eager(arithmetic, use_aot):
    model = models.encoder(2, WIDTH, HEADS, 2 * WIDTH).bfloat16()

    def inputs(seed):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randn(3, LENGTH, WIDTH, generator=generator).bfloat16(),)

    compiled = compile_or_refuse(model, *inputs(0), arithmetic=arithmetic, use_aot=use_aot)
    if compiled is not None:
        assert_as_accurate(compiled, model, inputs)


@pytest.mark.parametrize("arithmetic", ["fastest", "float32", "bfloat16"])
def test_packed_rows(arithmetic):
    model = PooledEncoder().eval().requires_grad_(False).bfloat16()
    x = torch.randn(3, LENGTH, WIDTH).bfloat16()
    is_padding = torch.arange(LENGTH) >= torch.tensor([[LENGTH], [9], [1]])
    compiled = compile_or_refuse(model, x, is_padding, arithmetic=arithmetic)
    if compiled is not None:
        assert any("padded tokens" in note for note in compiled.report.notes)
        assert_close(compiled(x, is_padding), model(x, is_padding))


@pytest.mark.parametrize("arithmetic", ["fastest", "float32"])
def test_float16_encoder_is_as_accurate_as_eager(arithmetic):
    model = models.encoder(2, WIDTH, HEADS, 2 * WIDTH).half()

    def inputs(seed):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randn(3, LENGTH, WIDTH, generator=generator).half(),)

    compiled = Compiled(model, arithmetic=arithmetic)
    assert_as_accurate(compiled, model, inputs)


def test_float32_models_stay_float32():
    model, x = models.encoder(1, WIDTH, HEADS, 2 * WIDTH), torch.randn(2, LENGTH, WIDTH)
    results = [Compiled(model, arithmetic=each)(x) for each in ("float32", "fastest")]
    assert torch.equal(*results)


def test_wrong_value(tmp_path):
    with pytest.raises(unfuse.Error, match="arithmetic.*'int8'"):
        unfuse.explain(nn.Linear(2, 2), torch.randn(2), options={"arithmetic": "int8"})
    with pytest.raises(unfuse.Error, match="arithmetic cannot be 'int8'"):
        unfuse.load(tmp_path / "none.pt2", arithmetic="int8")
