"""Where the time of compiled models goes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from unfuse import _unfuse

from . import arrays
from .errors import Error


@dataclass
class ProfileRow:
    """The calls of one op, or of one node, in all runs together."""

    op: str
    node: str  #: empty by op
    module_path: str  #: empty by op, or when unknown
    source: str  #: the same
    calls: int
    seconds: float
    flops: float  #: of matrix products, convolutions and attention
    bytes: float  #: read and written; what is read twice counts once


class Profile:
    """What ran within the `with` block of `unfuse.profile()`; complete once that has ended."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._profiler: Any = None
        self._native: Any = None

    def __enter__(self) -> Profile:
        self._profiler = _unfuse.Profiler(self._threads)
        self._native = None
        return self

    def __exit__(self, *exception: object) -> None:
        profiler, self._profiler = self._profiler, None
        self._native = profiler.stop()

    @property
    def runs(self) -> int:
        """How often a compiled piece ran: once a call where nothing is left to torch."""
        return self._recorded().runs

    @property
    def seconds(self) -> float:
        """All runs together."""
        return self._recorded().seconds

    def rows(self, by: str = "op") -> list[ProfileRow]:
        """By "op", those that take longest first, or by "node", as they ran first."""
        return [ProfileRow(*row) for row in self._recorded().rows(_checked(by))]

    def table(self, by: str = "op") -> str:
        """rows() for people: milliseconds a run, and the share of the machine's limits."""
        return self._recorded().table(_checked(by))

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes what happened when as Chrome trace events: ui.perfetto.dev shows them."""
        self._recorded().save_trace(os.fspath(path))

    def __str__(self) -> str:
        return self.table().rstrip("\n")

    def _recorded(self) -> Any:
        if self._native is None:
            raise Error(
                "nothing has been recorded yet", hint="with unfuse.profile() as p: model(x)"
            )
        return self._native


def profile(threads: int = 0) -> Profile:
    """Records every run of every compiled model in this process, on any thread:

        with unfuse.profile() as p:
            model(x)
        print(p)
        p.save_trace("trace.json")

    The machine's limits, which the times are compared with, are measured as the block begins, for
    `threads` threads; 0 takes torch's number, or without torch OMP_NUM_THREADS, or all cores.
    """
    if threads == 0 and (torch := arrays.loaded_torch()) is not None:
        threads = torch.get_num_threads()
    return Profile(threads)


def _checked(by: str) -> str:
    if by not in ("op", "node"):
        raise Error(f"a profile cannot be by {by!r}", hint="by is 'op' or 'node'")
    return by
