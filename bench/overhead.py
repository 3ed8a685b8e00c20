"""What a call of a compiled graph costs beside its kernels, in microseconds.

    .venv/bin/python bench/overhead.py [--rounds N] [--calls N]

Every case is compiled by `backend="eager"`, which runs the graph's ops in torch, and by
`backend="unfuse"`. Rounds of both alternate, so that a slow moment of the machine meets both alike;
what is printed are medians. "over eager" is the median difference within a round.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn


class OneOp(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


class ManyParameters(nn.Module):
    """One op that takes `count` parameters."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.parts = nn.ParameterList(torch.randn(1, 4) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, *self.parts])


CASES: dict[str, Callable[[], nn.Module]] = {
    "relu": OneOp,
    "linear": lambda: nn.Linear(4, 4),
    "cat of 10 parameters": lambda: ManyParameters(10),
    "cat of 200 parameters": lambda: ManyParameters(200),
}


def microseconds(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def measure(model: nn.Module, rounds: int, calls: int) -> list[tuple[float, float]]:
    """(eager, unfuse) of every round."""
    x = torch.randn(2, 4)
    compiled = [torch.compile(model, backend=name) for name in ("eager", "unfuse")]
    for contender in compiled:
        contender(x)
    measured = []
    for index in range(rounds):
        order = compiled if index % 2 else compiled[::-1]
        times = {id(c): microseconds(lambda c=c: c(x), calls) for c in order}
        measured.append((times[id(compiled[0])], times[id(compiled[1])]))
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=500)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {options.rounds} rounds of {options.calls} calls")
    with torch.inference_mode():
        for name, make in CASES.items():
            torch.compiler.reset()
            with torch.inference_mode(False):
                model = make().eval()
            measured = measure(model, options.rounds, options.calls)
            eager, ours = (statistics.median(times) for times in zip(*measured))
            over = statistics.median(ours - eager for eager, ours in measured)
            print(
                f"  {name:22} eager {eager:7.1f}   unfuse {ours:7.1f}   over eager {over:6.1f} us"
            )


if __name__ == "__main__":
    main()
