"""Latency of eager PyTorch and of unfuse, on an encoder and on ViT.

    ./dev bench [--rounds N] [--threads N] [MODEL ...]

Every round runs each contender once, in a new random order, so that a slow moment of the machine
meets all of them alike; what is printed are medians, with the quartiles. Compiling is not measured,
nor is the first run. Inputs are random: zeros flatter.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
import models  # noqa: E402 (it stands in examples/)


def encoder(length: int) -> tuple[nn.Module, Tensor]:
    return models.encoder(), torch.randn(max(1, 1024 // length), length, 512)


def vit() -> tuple[nn.Module, Tensor]:
    return models.vit_b_16(), torch.randn(1, 3, 224, 224)


CASES: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "encoder_128": lambda: encoder(128),
    "encoder_512": lambda: encoder(512),
    "encoder_1024": lambda: encoder(1024),
    "vit_b_16": vit,
}


def measure(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every run."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for contender in contenders.values():
        contender()
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            start = time.perf_counter()
            contenders[name]()
            times[name].append((time.perf_counter() - start) * 1e3)
    return times


def describe(times: list[float]) -> str:
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:8.2f} ms  ({low:.2f} to {high:.2f})"


def compare(name: str, rounds: int) -> None:
    model, example = CASES[name]()
    compiled = torch.compile(model, backend="unfuse")
    times = measure({"eager": lambda: model(example), "unfuse": lambda: compiled(example)}, rounds)
    ratio = statistics.median(times["eager"]) / statistics.median(times["unfuse"])
    print(f"{name}  {list(example.shape)}")
    for contender, measured in times.items():
        print(f"  {contender:7} {describe(measured)}")
    print(f"  eager takes {ratio:.2f} times as long as unfuse")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    unknown = sorted(set(options.models) - set(CASES))
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.rounds < 2:
        parser.error("--rounds must be at least 2, to tell how much they differ")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, float32, {options.threads} threads, {options.rounds} rounds")
    with torch.inference_mode():
        for name in options.models or CASES:
            compare(name, options.rounds)


if __name__ == "__main__":
    main()
