"""Errors against a float64 run: ours are held against eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
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

    @classmethod
    def mean(cls, errors: list[Errors]) -> Errors:
        return cls(
            fmean(each.maximum for each in errors), fmean(each.root_mean_square for each in errors)
        )


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
    """Max and RMS error against float64, in the mean of the seeds, at most 1.1 times eager's.

    The largest error of one run is that of its unluckiest element: between two kernels that are
    as exact as one another it differs by a fifth and more. Its mean does not.
    """
    mine, eagers = [], []
    for seed in range(seeds):
        inputs = make_inputs(seed)
        reference = exact(model, *inputs)
        mine.append(Errors.of(ours(*inputs), reference))
        eagers.append(Errors.of(model(*inputs), reference))
    assert_errors_within(Errors.mean(mine), Errors.mean(eagers))


def assert_errors_within(mine: Errors, eagers: Errors) -> None:
    """Max and RMS error at most 1.1 times eager's."""
    assert mine.root_mean_square <= ALLOWED * eagers.root_mean_square, (mine, eagers)
    assert mine.maximum <= ALLOWED * eagers.maximum, (mine, eagers)
