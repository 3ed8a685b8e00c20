"""What was measured, and the numbers that one draws from it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from .cases import Work
from .engines import OURS
from .limits import Limits

#: What a case is compared with.
PEERS = ("eager", "eager-sdpa", "inductor", "onnxruntime", "openvino")
EAGERS = ("eager", "eager-sdpa")


@dataclass
class EngineResult:
    #: Of each round; None where it had no turn.
    seconds: list[float | None] = field(default_factory=list)
    #: Measured before each turn.
    limits: list[Limits | None] = field(default_factory=list)
    #: Until the first result was there.
    prepare_seconds: float | None = None
    parts: dict[str, float] = field(default_factory=dict)
    #: The most memory in RAM during a run, of the whole process.
    peak_bytes: int = 0
    #: The largest difference from the reference, as a part of the largest element.
    difference: float | None = None
    #: Why there are no numbers, or why they do not count.
    failure: str | None = None
    note: str = ""

    @property
    def is_usable(self) -> bool:
        return self.failure is None and any(second is not None for second in self.seconds)

    def measured(self) -> list[float]:
        return [second for second in self.seconds if second is not None]


@dataclass
class CaseResult:
    name: str
    work: Work
    engines: dict[str, EngineResult] = field(default_factory=dict)
    #: Why it was not measured.
    skipped: str | None = None

    def usable(self, names: tuple[str, ...] | None = None) -> list[str]:
        return [
            name
            for name, result in self.engines.items()
            if result.is_usable and (names is None or name in names)
        ]

    def limits(self) -> Limits | None:
        """The medians of all that were measured for this case."""
        found = [limits for one in self.engines.values() for limits in one.limits if limits]
        if not found:
            return None
        return Limits(
            statistics.median(limits.flops_per_second for limits in found),
            statistics.median(limits.bytes_per_second for limits in found),
            statistics.median(limits.bfloat16_flops_per_second for limits in found),
        )

    @property
    def is_bfloat16(self) -> bool:
        return "/bfloat16/" in self.name

    def median(self, engine: str) -> float:
        """Seconds."""
        return statistics.median(self.engines[engine].measured())

    def quartiles(self, engine: str) -> tuple[float, float]:
        seconds = self.engines[engine].measured()
        if len(seconds) < 2:
            return seconds[0], seconds[0]
        low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
        return low, high

    def compare(self, one: str, other: str, how: Callable[[float, float], float]) -> float | None:
        """The median over the rounds that both had a turn in."""
        rounds = zip(self.engines[one].seconds, self.engines[other].seconds)
        both = [how(a, b) for a, b in rounds if a is not None and b is not None]
        return statistics.median(both) if both else None

    def ratio(self, slower: str, faster: str) -> float | None:
        """How many times as long `slower` takes."""
        return self.compare(slower, faster, lambda a, b: a / b)

    def arithmetic_share(self, engine: str) -> float:
        return self._share(
            engine, lambda limits: self.work.flops / limits.arithmetic(self.is_bfloat16)
        )

    def memory_share(self, engine: str) -> float:
        return self._share(engine, lambda limits: self.work.bytes / limits.bytes_per_second)

    def normalized(self, engine: str) -> float:
        """Median FLOPs that the machine could have done meanwhile: time that can be compared with
        another case's, whatever the clock did in between."""
        return self._over_rounds(
            engine, lambda second, limits: second * limits.arithmetic(self.is_bfloat16)
        )

    def best_peer(self, ours: str) -> tuple[str, float] | None:
        """The peer that is fastest against one of ours, and how many times as long it takes."""
        found = [
            (ratio, peer)
            for peer in self.usable(PEERS)
            if (ratio := self.ratio(peer, ours)) is not None
        ]
        if not found:
            return None
        ratio, peer = min(found)
        return peer, ratio

    def ours(self) -> str | None:
        """Ours through torch.compile; the faster where there are two ways that mean the same."""
        usable = [name for name in self.usable(OURS) if name != "unfuse-command"]
        return min(usable, key=self.median, default=None)

    def _share(self, engine: str, limit_seconds: Callable[[Limits], float]) -> float:
        return self._over_rounds(engine, lambda second, limits: limit_seconds(limits) / second)

    def _over_rounds(self, engine: str, how: Callable[[float, Limits], float]) -> float:
        result = self.engines[engine]
        values = [
            how(second, limits)
            for second, limits in zip(result.seconds, result.limits)
            if second is not None and limits is not None
        ]
        return statistics.median(values) if values else float("nan")
