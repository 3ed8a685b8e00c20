"""What a call costs that does next to nothing, and what a length costs that was not seen before."""

from __future__ import annotations

import models
import torch
from torch import Tensor, nn

from .case import Case, Work, Workload

_CALLED_FROM_PYTHON = ("eager", "dynamo-eager", "inductor", "unfuse")
_NEW_LENGTHS = range(33, 1 << 20)


class OneOp(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class ManyParameters(nn.Module):
    """One op on a value that depends on 200 parameters alone: what is paid at a call, besides the
    op, is looking whether any of them has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ParameterList(torch.randn(8) for _ in range(200))

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.stack(list(self.parts)).sum(dim=0)


def build_one_op() -> Workload:
    return Workload(OneOp().eval(), (torch.randn(8),))


def build_many_parameters() -> Workload:
    torch.manual_seed(0)
    model = ManyParameters().eval().requires_grad_(False)
    return Workload(model, (torch.randn(8),))


def _tokens(length: int) -> tuple[Tensor]:
    return (torch.randn(1, length, 512),)


def _build_lengths(seen_before: bool) -> Workload:
    return Workload(
        models.encoder(),
        _tokens(_NEW_LENGTHS[0]),
        ((1,),),
        inputs_at=lambda run: _tokens(_NEW_LENGTHS[run]),
        seen_before=seen_before,
    )


def build_new_lengths() -> Workload:
    return _build_lengths(seen_before=False)


def build_seen_lengths() -> Workload:
    """The same lengths, each when it has been run once: what differs is what a new one costs."""
    return _build_lengths(seen_before=True)


_NOTHING = Work(flops=0, bytes=0)

CASES = [
    Case(
        "call/one-op",
        build_one_op,
        _NOTHING,
        "one-op",
        quick=True,
        engines=_CALLED_FROM_PYTHON,
    ),
    Case(
        "call/200-parameters",
        build_many_parameters,
        _NOTHING,
        "200-parameters",
        engines=_CALLED_FROM_PYTHON,
    ),
    Case(
        "call/seen-length",
        build_seen_lengths,
        _NOTHING,
        "lengths",
        engines=("eager", "unfuse"),
        varies=True,
        runs=4,
    ),
    Case(
        "call/new-length",
        build_new_lengths,
        _NOTHING,
        "lengths",
        engines=("eager", "unfuse"),
        varies=True,
        runs=4,
    ),
]
