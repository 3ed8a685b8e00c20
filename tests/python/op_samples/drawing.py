"""A call drawn for a row, what PyTorch gives for it, and the types of both as JSON."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass

import torch

from . import copies, creation, in_place, indexing, layers, pointwise, reductions, views
from .catalogue import Row
from .sampler import Sampler

#: By the name of the rule.
SAMPLERS = {
    **pointwise.SAMPLERS,
    **in_place.SAMPLERS,
    **views.SAMPLERS,
    **copies.SAMPLERS,
    **creation.SAMPLERS,
    **reductions.SAMPLERS,
    **layers.SAMPLERS,
    **indexing.SAMPLERS,
}


@dataclass
class Sample:
    """A call that PyTorch took, and the tensors it gave."""

    op: str
    arguments: list
    keywords: dict
    results: list


def draw_call(row: Row, rng: random.Random) -> tuple[list, dict] | None:
    """Positional and keyword arguments, which PyTorch may refuse; None when none were drawn."""
    drawn = SAMPLERS[row.rule](Sampler(rng), row)
    if drawn is None:
        return None
    keywords = drawn.pop() if drawn and isinstance(drawn[-1], dict) else {}
    given = {k: v for k, v in keywords.items() if v is not None or k == "rounding_mode"}
    return drawn, given


def run(row: Row, arguments: list, keywords: dict) -> list | None:
    """What PyTorch gives, as a list; None when it refuses."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = row.overload(*arguments, **keywords)
    except (RuntimeError, IndexError, NotImplementedError, TypeError, ValueError):
        return None
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


def draw(row: Row, rng: random.Random) -> Sample | None:
    """The types of one call, or None when PyTorch refuses what was drawn."""
    call = draw_call(row, rng)
    if call is None:
        return None
    arguments, keywords = call
    # Described before the call: ops in place may change them.
    described = describe(arguments)
    results = run(row, arguments, keywords)
    if results is None:
        return None
    return Sample(
        op=row.name,
        arguments=described,
        keywords={name: describe(value) for name, value in keywords.items()},
        results=describe(results),
    )


def describe(value):
    """A JSON form: tensors as their types, everything else as it is or tagged."""
    if isinstance(value, torch.Tensor):
        return {
            "tensor": str(value.dtype).removeprefix("torch."),
            "sizes": list(value.shape),
            "strides": list(value.stride()),
            "offset": value.storage_offset(),
        }
    if isinstance(value, (list, tuple)):
        return [describe(element) for element in value]
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.memory_format):
        return {"format": str(value).removeprefix("torch.")}
    return value
