"""The exported models of tests/data, for torch to run."""

import copy
import pathlib

import torch
from torch.utils import _pytree

DATA = pathlib.Path(__file__).parents[1] / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.pt2"))


def load(name):
    return torch.export.load(DATA / f"{name}.pt2")


def call(program, dtype=None):
    """Runs a program on the inputs that it was exported with, widened to `dtype` if given; returns
    its results, and what the call left in its buffers and inputs."""
    args, kwargs = copy.deepcopy(program.example_inputs)
    module = program.module()
    if dtype is not None:
        module = module.to(dtype)
        widen = lambda leaf: leaf.to(dtype) if is_float(leaf) else leaf  # noqa: E731
        args, kwargs = _pytree.tree_map(widen, (args, kwargs))
    with torch.no_grad():
        results = _pytree.tree_leaves(module(*args, **kwargs))
    given = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if torch.is_tensor(leaf)]
    return results + list(module.buffers()) + given


def is_float(value):
    return torch.is_tensor(value) and value.is_floating_point()


def identical(left, right):
    """The same type and values, NaN equal to itself."""
    if not torch.is_tensor(left):
        return left == right
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and bool(((left == right) | (left.isnan() & right.isnan())).all())
    )
