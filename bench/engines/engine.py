"""What an engine is to the benchmark. One lives in each worker process."""

from __future__ import annotations

import abc
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from bench.cases import Case, Workload
from bench.peak_memory import PeakMemory


@dataclass
class Measured:
    """Some runs, one after another."""

    seconds: list[float]
    #: Of memory in RAM while they ran, of the whole process; 0 where that cannot be told.
    peak_bytes: int = 0
    #: What the last run gave, as `Engine.numbers` takes it.
    result: Any = None


class Engine(abc.ABC):
    """Runs one case at a time: prepare, measure as often as asked, release."""

    name: ClassVar[str]
    #: Of the attention scores of a model, how many are in memory at once, and whether they stay
    #: there when a run is over.
    score_copies: ClassVar[float] = 0
    keeps_scores: ClassVar[bool] = False
    #: Modules without which it is not installed.
    needs: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be had here; None when it can."""
        absent = [name for name in cls.needs if importlib.util.find_spec(name) is None]
        return f"not installed ({', '.join(absent)})" if absent else None

    def __init__(self, threads: int, folder: Path) -> None:
        """`folder`: for the files that it makes, of this engine alone."""
        self.threads = threads
        self.folder = folder
        #: What a reader of the results should know of how this case is run.
        self.note = ""
        #: Parts of the time of preparing, in seconds.
        self.parts: dict[str, float] = {}

    @abc.abstractmethod
    def prepare(self, case: Case, workload: Workload) -> None:
        """All that comes before the first run."""

    @abc.abstractmethod
    def bind(self, inputs: tuple[Tensor, ...]) -> Callable[[], Any]:
        """A run on these inputs."""

    def release(self) -> None:
        """Forgets the case."""
        self.note = ""
        self.parts = {}

    def numbers(self, result: Any) -> Tensor:
        """The first tensor of a result, in float32."""
        first = pytree.tree_leaves(result)[0]
        if isinstance(first, numpy.ndarray):
            first = torch.from_numpy(first)
        return first.float()

    def measure(self, workload: Workload, first_run: int, runs: int) -> Measured:
        """Runs number `first_run` and following, each timed."""
        measured = Measured([])
        run = self.bind(workload.inputs)
        for index in range(first_run, first_run + runs):
            if workload.inputs_at is not None:
                run = self.bind(workload.inputs_at(index))
                if workload.seen_before:
                    run()
            with PeakMemory() as peak:
                start = time.perf_counter()
                measured.result = run()
                measured.seconds.append(time.perf_counter() - start)
            measured.peak_bytes = max(measured.peak_bytes, peak.bytes)
        return measured

    def warm_up(self, workload: Workload) -> None:
        """A run that is not timed."""
        if workload.inputs_at is None:
            self.bind(workload.inputs)()
