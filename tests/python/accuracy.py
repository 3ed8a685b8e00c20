"""Errors against a float64 run: ours are held against eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

#: Ours may be this many times eager's.
ALLOWED = 1.1


@dataclass
class Errors:
    maximum: float
    root_mean_square: float

    @classmethod
    def of(cls, result: torch.Tensor, exact: torch.Tensor) -> Errors:
        difference = (result.double() - exact).abs()
        return cls(difference.max().item(), difference.square().mean().sqrt().item())


def exact(model: torch.nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
    """The model's result with the same weights and inputs, computed in float64."""
    widened = [x.double() if x.is_floating_point() else x for x in inputs]
    return copy.deepcopy(model).double()(*widened)


def assert_as_accurate(
    ours: Callable[..., Any],
    model: torch.nn.Module,
    make_inputs: Callable[[int], tuple[torch.Tensor, ...]],
    seeds: int = 5,
) -> None:
    """Max and RMS error against float64, of all seeds together, at most 1.1 times eager's."""
    results = {"ours": [], "eager": [], "exact": []}
    for seed in range(seeds):
        inputs = make_inputs(seed)
        results["ours"].append(ours(*inputs))
        results["eager"].append(model(*inputs))
        results["exact"].append(exact(model, *inputs))
    stacked = {name: torch.stack(tensors) for name, tensors in results.items()}
    assert_errors_within(stacked["ours"], stacked["eager"], stacked["exact"])


def assert_errors_within(ours: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> None:
    """Max and RMS error at most 1.1 times eager's."""
    mine, allowed = Errors.of(ours, exact), Errors.of(eager, exact)
    assert mine.root_mean_square <= ALLOWED * allowed.root_mean_square, (mine, allowed)
    assert mine.maximum <= ALLOWED * allowed.maximum, (mine, allowed)
