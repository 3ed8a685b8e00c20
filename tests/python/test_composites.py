"""Ops that PyTorch composes of others: torch.compile takes them apart, torch.export keeps them."""

import re

import pytest
import torch
import torch.nn.functional as F
import unfuse
from compiling import Compiled, assert_close
from torch import nn


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def saved(program, path):
    torch.export.save(program, path)
    return path


def refused(path):
    """The ops that loading names; none when the program loads."""
    try:
        unfuse.load(path)
    except unfuse.Error as error:
        assert error.kind == "unsupported"
        assert "program.run_decompositions()" in error.hint
        return set(re.findall(r"aten\.\w+\.\w+", str(error)))
    return set()


X = torch.randn(2, 4, 6)
LEFT = {
    "embedding bag": (nn.EmbeddingBag(5, 3), (torch.tensor([[1, 2], [3, 4]]),)),
    "distances": (Call(torch.cdist), (X, X)),
    "spectrum": (Call(lambda x: torch.fft.fft(x).real), (X,)),
    "singular values": (Call(torch.linalg.svdvals), (X,)),
    "second smallest": (Call(lambda x: x.kthvalue(2)[0]), (X,)),
}


@pytest.mark.parametrize("model, args", LEFT.values(), ids=LEFT.keys())
def test_what_is_left_has_one_name(model, args, use_aot, tmp_path):
    """In the report of a compiled model, and in the error about the exported one."""
    report = unfuse.explain(model, *args, options={"use_aot": use_aot})
    names = {left.op for left in report.left_to_torch}
    assert names
    program = torch.export.export(model, args)
    assert refused(saved(program, tmp_path / "composed.pt2"))
    assert refused(saved(program.run_decompositions(), tmp_path / "apart.pt2")) == names


TAKEN_APART = {
    "cosine similarity": lambda x: F.cosine_similarity(x, x + 1, dim=-1),
    "pairwise distance": lambda x: F.pairwise_distance(x, x + 1),
    "differences": torch.diff,
    "tensordot": lambda x: torch.tensordot(x, x, dims=([0, 1], [0, 1])),
    "kron": lambda x: torch.kron(x[0], x[1]),
    "circular padding": lambda x: F.pad(x, (1, 1), mode="circular"),
}


@pytest.mark.parametrize("function", TAKEN_APART.values(), ids=TAKEN_APART.keys())
def test_taken_apart_by_run_decompositions(function, use_aot, tmp_path):
    model = Call(function)
    compiled = Compiled(model, use_aot=use_aot)
    assert_close(compiled(X), function(X))
    compiled.assert_whole()
    program = torch.export.export(model, (X,))
    assert refused(saved(program, tmp_path / "composed.pt2"))
    path = saved(program.run_decompositions(), tmp_path / "apart.pt2")
    assert_close(unfuse.load(path)(X), function(X))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_bilinear(batch, bias, use_aot, tmp_path):
    model, left, right = nn.Bilinear(4, 5, 3, bias), torch.randn(*batch, 4), torch.randn(*batch, 5)
    compiled = Compiled(model, use_aot=use_aot, dynamic=True)
    assert_close(compiled(left, right), model(left, right))
    compiled.assert_whole()
    program = torch.export.export(model, (left, right))
    for form, name in ((program, "composed"), (program.run_decompositions(), "apart")):
        loaded = unfuse.load(saved(form, tmp_path / f"{name}.pt2"))
        assert_close(loaded(left, right), model(left, right))


def test_log_sigmoid(use_aot):
    compiled = Compiled(nn.LogSigmoid(), use_aot=use_aot)
    assert_close(compiled(X), F.logsigmoid(X))
    compiled.assert_whole()
