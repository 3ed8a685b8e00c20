"""What is measured: a model, its inputs, and how much work they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Work:
    """What one run cannot do without: causal attention is half of the pairs, padding is none."""

    flops: float
    #: Read or written at least once: the weights, as stored, inputs and outputs.
    bytes: float
    #: Inputs and outputs alone.
    io_bytes: float = 0
    #: Of attention scores, for those who write them to memory: batch x heads x length x length.
    score_bytes: float = 0


@dataclass(frozen=True)
class Workload:
    model: nn.Module
    inputs: tuple[Tensor, ...]
    #: For each input, the dims that are the length: an engine that converts models does it once for
    #: all lengths. Empty: every size is fixed.
    length_dims: tuple[tuple[int, ...], ...] = ()
    #: [batch, length] bool, for padded inputs: the rows of the first result that mean something.
    real_rows: Tensor | None = None
    #: The inputs of the n-th run, where runs differ.
    inputs_at: Callable[[int], tuple[Tensor, ...]] | None = None
    #: Whether such inputs are run once before they are timed.
    seen_before: bool = False

    def positions(self, names: Sequence[str]) -> list[int]:
        """Which of the inputs have these names: those that forward() gives them. Exporters keep the
        names, and leave out inputs that the graph does not use."""
        code = self.model.forward.__code__
        arguments = code.co_varnames[1 : code.co_argcount]
        return [arguments.index(name) for name in names]

    def dynamic_shapes(self) -> tuple[dict[int, torch.export.Dim], ...] | None:
        """As torch.export and torch.onnx.export want them."""
        if not self.length_dims:
            return None
        length = torch.export.Dim("length", min=2, max=1 << 20)
        return tuple({dim: length for dim in dims} for dims in self.length_dims)


@dataclass(frozen=True)
class Case:
    #: "encoder/1x1024/float32/none": what, batch x length, dtype, mask.
    name: str
    build: Callable[[], Workload]
    work: Work
    #: Cases that differ in their length only share it, and what is converted for them.
    family: str
    dtype: torch.dtype = torch.float32
    batch: int = 1
    length: int = 0
    mask: str = "none"
    #: Lower ranks are measured first; the higher ones may not fit into the time that there is.
    rank: int = 0
    quick: bool = False
    #: Measured in processes of their own, started and compiled one after another, so that times of
    #: compiling and peaks of memory are of this case alone.
    fresh: bool = False
    #: Those that make sense here; None: all that compute the same.
    engines: tuple[str, ...] | None = None
    #: Sizes may vary from run to run, and the engines are told so.
    varies: bool = False
    #: Timed runs in a round; None: as many as give a good median.
    runs: int | None = None


@dataclass(frozen=True)
class Stack:
    """A stack of transformer layers."""

    layers: int
    width: int
    feedforward: int
    heads: int

    def flops(self, rows: float, pairs: float) -> float:
        """`rows`: tokens of all sequences; `pairs`: of a query and a key that it sees, of all
        sequences, counted once for all heads."""
        linear = 2 * rows * (4 * self.width**2 + 2 * self.width * self.feedforward)
        attention = 4 * pairs * self.width
        return self.layers * (linear + attention)

    def parameters(self) -> int:
        matrices = 4 * self.width**2 + 2 * self.width * self.feedforward
        vectors = 9 * self.width + self.feedforward
        return self.layers * (matrices + vectors)


def item_bytes(dtype: torch.dtype) -> int:
    return torch.empty(0, dtype=dtype).element_size()


def short_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
