"""What the machine can do at most, by the C++ program bench_limits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import bench

from .connection import LineProcess

PROGRAM = bench.ROOT / "build" / "release" / "bin" / "bench_limits"

#: A measurement older than this says nothing about now.
_FRESH_SECONDS = 1.0
_LONGEST_SECONDS = 60.0


@dataclass(frozen=True)
class Limits:
    flops_per_second: float
    bytes_per_second: float
    #: Of products of bfloat16, summed in float32; 0 where the machine has none.
    bfloat16_flops_per_second: float = 0.0

    def arithmetic(self, bfloat16: bool) -> float:
        """FLOP/s that a model can reach whose numbers are bfloat16, or not."""
        return max(self.flops_per_second, self.bfloat16_flops_per_second if bfloat16 else 0.0)


class LimitsMeter:
    def __init__(self, threads: int, log: Path) -> None:
        self._process = LineProcess(
            [str(PROGRAM), str(threads)], log, {"OMP_NUM_THREADS": str(threads)}
        )
        self._last: Limits | None = None
        self._measured_at = 0.0

    def measure(self) -> Limits:
        """Anew, unless that was done a moment ago. Raises WorkerError."""
        if self._last is None or time.monotonic() - self._measured_at > _FRESH_SECONDS:
            self._process.send("measure")
            self._last = Limits(**self._process.receive(_LONGEST_SECONDS))
            self._measured_at = time.monotonic()
        return self._last

    def stop(self) -> None:
        self._process.stop()
