"""How often things are measured, and whether there is time for them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .cases import Case

#: Timed runs of one turn together take about this long, lest a turn be one lucky moment.
_TURN_SECONDS = 0.1
_MOST_RUNS = 500
#: A peer that takes this many times as long as the fastest is not going to be the best one.
_FAR_BEHIND = 2.5
_FAR_BEHIND_FROM_SECONDS = 2.0
#: Of the machine's limit: what engines reach on average, for guessing how long a case will take.
_USUAL_SHARE = 0.4


@dataclass(frozen=True)
class Effort:
    #: What the rounds of a case may take together.
    case_seconds: float
    fewest_rounds: int
    most_rounds: int


FULL = Effort(case_seconds=12, fewest_rounds=3, most_rounds=15)
QUICK = Effort(case_seconds=4, fewest_rounds=2, most_rounds=10)
#: Where one round takes longer than this, two must do.
_LONG_ROUND_SECONDS = 40.0


def runs_in_turn(case: Case, expected_seconds: float) -> int:
    if case.runs is not None:
        return case.runs
    return max(1, min(_MOST_RUNS, int(_TURN_SECONDS / max(expected_seconds, 1e-9))))


def turn_seconds(case: Case, expected_seconds: float) -> float:
    return runs_in_turn(case, expected_seconds) * expected_seconds


def rounds(case: Case, expected: dict[str, float], effort: Effort, asked: int | None) -> int:
    """`expected`: seconds of a run, by engine."""
    if asked is not None:
        return asked
    round_seconds = sum(turn_seconds(case, seconds) for seconds in expected.values())
    fitting = int(effort.case_seconds / max(round_seconds, 1e-9))
    fewest = min(2, effort.fewest_rounds) if round_seconds > _LONG_ROUND_SECONDS else None
    return max(fewest or effort.fewest_rounds, min(effort.most_rounds, fitting))


def far_behind(expected: dict[str, float]) -> dict[str, float]:
    """Those that get one round only, with how many times the fastest's time they take."""
    if not expected:
        return {}
    fastest = min(expected.values())
    return {
        engine: seconds / fastest
        for engine, seconds in expected.items()
        if seconds > _FAR_BEHIND_FROM_SECONDS and seconds > _FAR_BEHIND * fastest
    }


class Clock:
    """The time that there is, and what cases have taken so far."""

    def __init__(self, minutes: float | None) -> None:
        """`minutes` None: as long as it takes."""
        self._started = time.monotonic()
        self._deadline = None if minutes is None else self._started + 60 * minutes
        self._loading = 20.0

    def elapsed(self) -> float:
        return time.monotonic() - self._started

    def loaded(self, seconds: float) -> None:
        """How long loading a case took, all engines together."""
        self._loading = 0.5 * self._loading + 0.5 * seconds

    def has_time_for(
        self, case: Case, engines: int, flops_per_second: float, effort: Effort
    ) -> bool:
        if self._deadline is None:
            return True
        left = self._deadline - time.monotonic()
        run = case.work.flops / (_USUAL_SHARE * flops_per_second)
        few_rounds = (2 + effort.fewest_rounds) * engines * run
        return left > self._loading + max(few_rounds, effort.case_seconds)
