"""Wrong uses of the Python API: each is an Error that says what is wrong, and names it."""

import os
import pathlib

import numpy as np
import pytest
import torch
import unfuse
from torch import nn


class Named(nn.Module):
    def forward(self, x, ids, *, scale=None):
        return x * 2 + ids


class Collected(nn.Module):
    def forward(self, *parts, **named):
        return parts[0] + parts[1] + named["last"]


class PathLike:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


X = torch.ones(2)


@pytest.fixture
def path(tmp_path):
    program = torch.export.export(Named(), (X, X), {"scale": X})
    torch.export.save(program, tmp_path / "named.pt2")
    return tmp_path / "named.pt2"


def raised(kind, call):
    with pytest.raises(unfuse.Error) as caught:
        call()
    assert caught.value.kind == kind
    return str(caught.value)


@pytest.mark.parametrize(
    "args, kwargs, faults",
    [
        ((X,), {"idz": X, "scale": X}, ["unknown arguments: idz", "missing arguments: ids"]),
        ((X, X), {"ids": X, "scale": X}, ["given twice: ids"]),
        ((X,), {"x": X, "ids": X, "scale": X}, ["given twice: x"]),
        ((X, X), {"scale": X, "other": 1}, ["unknown arguments: other"]),
        ((X, X, X), {}, ["3 positional arguments, not 2", "missing arguments: scale"]),
        ((X, X, X), {"scale": X}, ["3 positional arguments, not 2"]),
        ((X, X), {}, ["missing arguments: scale"]),
        ((), {}, ["missing arguments: x, ids, scale"]),
    ],
)
def test_names_of_arguments(path, args, kwargs, faults):
    message = raised("invalid_argument", lambda: unfuse.load(path)(*args, **kwargs))
    assert message.endswith("it takes (x, ids, scale)")
    for fault in faults:
        assert fault in message
    # Nothing else is complained about.
    kinds = ("unknown arguments", "given twice", "missing arguments", "positional arguments")
    assert sum(kind in message for kind in kinds) == len(faults)


def test_names_of_collected_arguments(tmp_path):
    torch.export.save(torch.export.export(Collected(), (X, X), {"last": X}), tmp_path / "m.pt2")
    program = unfuse.load(tmp_path / "m.pt2")
    assert torch.equal(program(X, X, last=X), 3 * X)
    message = raised("invalid_argument", lambda: program(X, first=X))
    assert "unknown arguments: first; missing arguments: parts_1, last" in message


def test_kinds_of_paths(path):
    for given in (path, str(path), PathLike(str(path))):
        assert torch.equal(unfuse.load(given)(X, X, scale=X), 3 * X)


@pytest.mark.parametrize(
    "given, named",
    [
        (3, "int"),
        (None, "NoneType"),
        (b"model.pt2", "bytes"),
        (["model.pt2"], "list"),
        (PathLike(b"model.pt2"), "PathLike"),
        (PathLike(3), "PathLike"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_path(given, named):
    message = raised("invalid_argument", lambda: unfuse.load(given))
    assert f"expected a path, not {named}" in message


def test_names_of_files(path, tmp_path):
    raised("invalid_argument", lambda: unfuse.load(f"{path}\0.txt"))
    # Any bytes are a name, and are shown.
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xe9.pt2")
    assert r"\xff\xe9.pt2: no such file" in raised("invalid_argument", lambda: unfuse.load(name))
    pathlib.Path(name).write_bytes(path.read_bytes())
    assert torch.equal(unfuse.load(name)(X, X, scale=X), 3 * X)


@pytest.mark.parametrize("threads", [-1, "2", 2.5, None, 10**20])
def test_thread_counts(path, threads):
    message = raised("invalid_argument", lambda: unfuse.load(path, threads=threads))
    assert f"threads cannot be {threads!r}" in message
    unfuse.load(path, threads=np.int64(2))


WRONG_CHOICES = [3, None, "OP", ["op"], np.array(["op", "zero"]), torch.ones(2)]


@pytest.mark.parametrize("value", WRONG_CHOICES, ids=lambda value: type(value).__name__)
def test_choices(path, value):
    message = raised("invalid_argument", lambda: unfuse.load(path, fully_masked_rows=value))
    assert "fully_masked_rows cannot be" in message and "'op' or 'zero'" in message


WRONG_OPTIONS = {
    "a number": (3, "as a dict, not int"),
    "a string": ("strict", "as a dict, not str"),
    "a list": (["strict"], "as a dict, not list"),
    "a number as name": ({1: 2}, "no option 1"),
    "an unknown name": ({"use_oat": True}, "no option 'use_oat'; there are use_aot, strict"),
    "a number as flag": ({"strict": 1}, "strict cannot be 1; it is True or False"),
    "a word as flag": ({"verbose": "yes"}, "verbose cannot be 'yes'; it is True or False"),
    "a choice that is none": ({"padded_rows": "eager"}, "'eager'; it is 'compiled' or 'zero'"),
    "an array as choice": ({"padded_rows": np.ones(2)}, "it is 'compiled' or 'zero'"),
    "a list as choice": ({"fully_masked_rows": ["op"]}, "['op']; it is 'op' or 'zero'"),
}


@pytest.mark.parametrize("options, words", WRONG_OPTIONS.values(), ids=WRONG_OPTIONS.keys())
def test_options(options, words):
    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    assert words in raised("invalid_argument", lambda: unfuse.explain(model, x, options=options))
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as caught:
        torch.compile(model, backend="unfuse", options=options)(x)
    assert words in str(caught.value)


def test_modes():
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no modes.*'max-autotune'"):
        torch.compile(nn.Linear(2, 2), backend="unfuse", mode="max-autotune")(torch.ones(1, 2))


@pytest.mark.parametrize(
    "model, named",
    [(3, "int"), (None, "NoneType"), ("model", "str"), (nn.Linear, "the class Linear")],
)
def test_what_cannot_be_explained(model, named):
    message = raised("invalid_argument", lambda: unfuse.explain(model, X))
    assert f"expected a model, not {named}" in message


@pytest.mark.parametrize(
    "model",
    [3, None, nn.Linear, lambda x: x, X, [nn.Linear(2, 2)]],
    ids=lambda model: type(model).__name__,
)
def test_what_cannot_be_refreshed(model):
    message = raised("invalid_argument", lambda: unfuse.refresh(model))
    assert f"expected an nn.Module, not {type(model).__name__}" in message


def test_compiled_models_are_models():
    model = nn.Linear(2, 2)
    unfuse.refresh(torch.compile(model, backend="unfuse"))
    assert unfuse.explain(torch.compile(model, backend="unfuse"), torch.ones(1, 2)).graphs == 1
