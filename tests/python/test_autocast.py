"""Under autocast results have the dtype that the captured graph has in torch, and its values."""

import pytest
import torch
from compiling import Compiled, assert_close, captured
from torch import nn

DTYPES = [torch.bfloat16, torch.float16]
LAYER = "aten._transformer_encoder_layer_fwd.default"


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def make_layer(dtype=torch.float32, **options):
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **options).eval().to(dtype)


def compare(model, *args, use_aot, autocast=torch.bfloat16, **kwargs):
    compiled = Compiled(model, use_aot=use_aot)
    with torch.no_grad(), torch.autocast("cpu", autocast):
        actual = compiled(*args, **kwargs)
        torch._dynamo.reset()
        expected = captured(model, *args, **kwargs)
    assert_close_with_dtypes(actual, expected)
    return compiled, actual


def assert_close_with_dtypes(actual, expected):
    if isinstance(actual, torch.Tensor):
        actual, expected = (actual,), (expected,)
    for mine, theirs in zip(actual, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert_close(mine, theirs)


def test_what_is_no_fused_op(use_aot):
    _, result = compare(nn.Linear(8, 8), torch.randn(3, 8), use_aot=use_aot)
    assert result.dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_encoder_layer(dtype, norm_first, masked, use_aot):
    layer = make_layer(norm_first=norm_first, activation="gelu")
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2]) if masked else None
    compiled, result = compare(
        layer,
        torch.randn(2, 5, 16),
        src_key_padding_mask=padding,
        use_aot=use_aot,
        autocast=dtype,
    )
    assert result.dtype == dtype
    assert compiled.report.opened == {LAYER: 1}
    compiled.assert_whole()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_layers_that_are_not_float32(dtype, use_aot):
    x = torch.randn(2, 5, 16).to(dtype)
    assert compare(make_layer(dtype), x, use_aot=use_aot)[1].dtype == dtype


def test_encoder(use_aot):
    model = nn.TransformerEncoder(make_layer(), 3, enable_nested_tensor=False)
    compiled, _ = compare(model, torch.randn(2, 5, 16), use_aot=use_aot)
    assert compiled.report.opened == {LAYER: 3}


def test_no_rows(use_aot):
    compare(make_layer(), torch.randn(0, 5, 16), use_aot=use_aot)


class InParts(nn.Module):
    """Autocast in the model: on, off, and on for a part of it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(3))

    def forward(self, x):
        first, second, third = self.layers
        with torch.autocast("cpu", torch.bfloat16):
            x = first(x)
            with torch.autocast("cpu", enabled=False):
                y = second(x.float())
        return x, y, third(y)


def test_autocast_in_the_model(use_aot):
    model, x = InParts().eval(), torch.randn(2, 5, 16)
    with torch.no_grad():
        compiled = Compiled(model, use_aot=use_aot)
        results = compiled(x)
        torch._dynamo.reset()
        expected = captured(model, x)
    for mine, theirs in zip(results, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert_close(mine, theirs, rtol=4e-2, atol=4e-2)  # they come from bfloat16
    assert [result.dtype for result in results] == [torch.bfloat16, torch.float32, torch.float32]


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention(need_weights, use_aot):
    width = 16
    x = torch.randn(2, 5, width)
    weights = [torch.randn(n, width) * 0.1 for n in (3 * width, width)]
    biases = [torch.randn(n) * 0.1 for n in (3 * width, width)]

    def attend(x):
        return torch._native_multi_head_attention(
            x,
            x,
            x,
            width,
            2,
            weights[0],
            biases[0],
            weights[1],
            biases[1],
            torch.zeros(5, 5).bool(),
            need_weights,
            True,
            0,
        )[: 1 + need_weights]

    compare(attend, x, use_aot=use_aot)


def test_calls_with_and_without_autocast(use_aot):
    compiled, x = Compiled(make_layer(), use_aot=use_aot), torch.randn(2, 5, 16)
    dtypes = []
    with torch.no_grad():
        for enabled in (False, True, False):
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                dtypes.append(compiled(x).dtype)
    assert dtypes == [torch.float32, torch.bfloat16, torch.float32]


def test_errors_are_not_larger_than_in_torch(use_aot):
    errors = {"ours": 0.0, "theirs": 0.0}
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    compiled = Compiled(layer, use_aot=use_aot)
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(4, 16, 64)
            want = layer.double()(x.double())
            layer.float()
            with torch.autocast("cpu", torch.bfloat16):
                for name, result in (("ours", compiled(x)), ("theirs", layer(x))):
                    errors[name] += (result.double() - want).square().mean().sqrt().item()
    assert errors["ours"] <= 1.1 * errors["theirs"]


def test_other_aot_backends_lose_the_dtype():
    """docs/facts.md: AOTAutograd runs what it traced without autocast, and the layer is one op."""
    layer, x = make_layer(), torch.randn(2, 3, 16)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert torch.compile(layer, backend="aot_eager")(x).dtype == torch.float32
        assert layer(x).dtype == torch.bfloat16
