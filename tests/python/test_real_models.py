"""The 6-layer encoder, ViT-B/16 and MiniLM: both modes, 16 bits, and through a .pt2."""

import minilm
import models
import pytest
import torch
import unfuse
from accuracy import assert_as_accurate
from compiling import Compiled

DTYPES = [torch.float32, torch.float16]
#: Max abs difference from eager.
LIMITS = {
    ("encoder", torch.float32): 2e-5,
    ("encoder", torch.float16): 9.8e-3,
    ("vit", torch.float32): 2e-5,
    ("vit", torch.float16): 4.9e-3,
}
LAYER = "aten._transformer_encoder_layer_fwd.default"


def _model(name, dtype):
    return models.encoder(dtype=dtype) if name == "encoder" else models.vit_b_16(dtype=dtype)


def _inputs(name, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    sizes = (1, 64, 512) if name == "encoder" else (1, 3, 224, 224)
    return (torch.randn(sizes, generator=generator).to(dtype),)


def _load(model, inputs, path, strict):
    program = torch.export.export(model, inputs, strict=strict)
    torch.export.save(program, path)
    return unfuse.load(path)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["encoder", "vit"])
def test_compiled(name, dtype, use_aot):
    model, inputs = _model(name, dtype), _inputs(name, dtype)
    compiled = Compiled(model, use_aot=use_aot)
    difference = (compiled(*inputs) - model(*inputs)).abs().max().item()
    compiled.assert_whole()
    assert compiled.report.opened.get(LAYER, 0) == (6 if name == "encoder" else 0)
    assert difference <= LIMITS[name, dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["encoder", "vit"])
def test_exported(name, dtype, tmp_path):
    model, inputs = _model(name, dtype), _inputs(name, dtype)
    program = _load(model, inputs, tmp_path / "model.pt2", strict=name == "encoder")
    assert program.report.opened.get(LAYER, 0) == (6 if name == "encoder" else 0)
    difference = (program(*inputs) - model(*inputs)).abs().max().item()
    assert difference <= LIMITS[name, dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["encoder", "vit"])
def test_as_accurate_as_eager(name, dtype):
    model = _model(name, dtype)
    compiled = Compiled(model)
    assert_as_accurate(compiled, model, lambda seed: _inputs(name, dtype, seed))


@pytest.fixture(scope="module")
def sentences():
    model = minilm.load()
    ids, mask = minilm.tokenize(
        [
            "That is a happy person",
            "That is a happy dog",
            "Today is a sunny day, and the café is open!",
            "Compilers turn graphs of tensor operations into machine code.",
        ]
    )
    return model, ids, mask


def _assert_same_direction(actual, expected):
    assert torch.cosine_similarity(actual, expected, dim=1).min().item() > 0.99999


def test_minilm_compiled(sentences, use_aot):
    model, ids, mask = sentences
    compiled = Compiled(model, use_aot=use_aot)
    _assert_same_direction(compiled(ids, mask), model(ids, mask))
    compiled.assert_whole()


def test_minilm_exported(sentences, tmp_path):
    model, ids, mask = sentences
    program = _load(model, (ids, mask), tmp_path / "minilm.pt2", strict=False)
    result = program(input_ids=ids, attention_mask=mask)
    _assert_same_direction(result, model(ids, mask))
    # What the model's card gives for "a happy person" and "a happy dog".
    assert abs((result[0] @ result[1]).item() - 0.695) < 1e-3


def test_minilm_of_any_length(sentences, tmp_path):
    model, ids, mask = sentences
    batch, length = torch.export.Dim("batch", max=64), torch.export.Dim("length", max=512)
    sizes = {0: batch, 1: length}
    program = torch.export.export(model, (ids, mask), dynamic_shapes=(sizes, sizes))
    torch.export.save(program, tmp_path / "minilm.pt2")
    run = unfuse.load(tmp_path / "minilm.pt2")
    for texts in (["One."], ["A longer sentence, alone."] * 3):
        tokens = minilm.tokenize(texts) if len(texts) > 1 else minilm.tokenize(texts * 2)
        _assert_same_direction(run(*tokens), model(*tokens))
