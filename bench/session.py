"""Measures cases: a worker an engine, rounds in which each gets its turn."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from . import engines, machine, plan
from .cases import Case
from .connection import Worker, WorkerError
from .limits import LimitsMeter
from .results import CaseResult, EngineResult

_LOAD_SECONDS = 600.0
_SLOWEST_FACTOR = 30
_PATIENCE_SECONDS = 60.0
#: A first run that takes longer is not repeated for knowing better.
_FIRST_RUN_TELLS_SECONDS = 5.0
#: Threads of the last engine that still spin go to sleep meanwhile.
_PAUSE_SECONDS = 0.01
#: Of the memory that is free, what may be asked for.
_MEMORY_SHARE = 0.85
#: Engines that would keep more than this between their turns leave meanwhile.
_KEPT_BYTES = 1e9
_REFERENCES = ("eager-sdpa", "eager", "dynamo-eager")
_TOLERANCE = {torch.float32: 1e-3}
_TOLERANCE_16_BIT = 5e-2


@dataclass(frozen=True)
class _Visits:
    """Engines that are loaded for their turn only, and what they must give."""

    names: list[str]
    reference: dict[str, Any] | None


class Session:
    """`with Session(...) as session: session.measure(case)`."""

    def __init__(
        self,
        places: dict[str, str],
        threads: int,
        folder: Path,
        meter: LimitsMeter,
        *,
        effort: plan.Effort = plan.FULL,
        asked_rounds: int | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`places`: where the class of each engine is, by its name. `folder`: for files that are
        not kept."""
        self._places = places
        self._threads = threads
        self._folder = folder
        self._meter = meter
        self._effort = effort
        self._asked_rounds = asked_rounds
        self._say = say
        self._workers: dict[str, Worker] = {}
        #: Seconds that loading the last case took.
        self.loading_seconds = 0.0

    @property
    def engines(self) -> list[str]:
        return list(self._places)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop(list(self._workers), wait=kind is None)

    def measure(self, case: Case) -> CaseResult:
        names = [name for name in self._places if engines.take_part(name, case)]
        result = CaseResult(case.name, case.work, {name: EngineResult() for name in names})
        self._say(f"{case.name}: loading")
        started = time.monotonic()
        if case.fresh:
            self._stop(list(self._workers))
        staying, visiting = self._that_fit(case, result)
        loaded = self._load(case, result, staying)
        self.loading_seconds = time.monotonic() - started
        reference = next((loaded[name] for name in _REFERENCES if name in loaded), None)
        for name, answer in loaded.items():
            _compare(case, result.engines[name], answer, reference)
        expected = self._expected(result, loaded)
        self._rounds(case, result, expected, _Visits(visiting, reference))
        self._release(names)
        if case.fresh:
            self._stop(list(self._workers))
        return result

    # --- Loading

    def _that_fit(self, case: Case, result: CaseResult) -> tuple[list[str], list[str]]:
        """Those that stay loaded, and those that are loaded for their turn only, since they keep
        too much memory. Those that would not fit even alone have failed."""
        free = machine.memory("MemAvailable") * _MEMORY_SHARE
        staying, visiting = [], []
        for name, one in result.engines.items():
            engine = engines.load(self._places[name])
            needed = engine.score_copies * case.work.score_bytes
            if free and needed > free:
                one.failure = (
                    f"left out: it needs some {needed / 1e9:.0f} GB, {free / 1e9:.0f} are free"
                )
            elif engine.keeps_scores and needed > _KEPT_BYTES:
                visiting.append(name)
            else:
                staying.append(name)
        return staying, visiting

    def _load(self, case: Case, result: CaseResult, names: list[str]) -> dict[str, dict[str, Any]]:
        """Loads the case everywhere: all at once, or, where compiling is timed, in turn."""
        if not case.fresh:
            for name in names:
                self._worker(name).ask(do="load", case=case.name)
        loaded = {}
        for name in names:
            if case.fresh:
                self._worker(name).ask(do="load", case=case.name)
            answer = self._loaded(name, result.engines[name])
            if answer is not None:
                loaded[name] = answer
        return loaded

    def _loaded(self, name: str, result: EngineResult) -> dict[str, Any] | None:
        """The answer to a request to load; None when that failed, which the result then says."""
        try:
            answer = self._worker(name).answer(_LOAD_SECONDS)
        except WorkerError as error:
            result.failure = f"cannot run it: {error}"
            return None
        if result.prepare_seconds is None:
            result.prepare_seconds = answer["prepare_seconds"]
            result.parts = answer["parts"]
            result.note = answer["note"]
        return answer

    def _worker(self, name: str) -> Worker:
        if name not in self._workers or not self._workers[name].is_alive:
            self._stop([name])
            self._workers[name] = Worker(
                self._places[name],
                self._threads,
                self._folder / name,
                self._folder / f"{name}.log",
            )
        return self._workers[name]

    # --- Rounds

    def _expected(self, result: CaseResult, answers: dict[str, dict[str, Any]]) -> dict[str, float]:
        """Seconds of a run, of every engine that takes part. First runs, while others loaded, tell
        little; where they were long, the first round will tell."""
        expected = {}
        for name, answer in answers.items():
            one = result.engines[name]
            expected[name] = answer["first_seconds"]
            if one.failure is None and expected[name] < _FIRST_RUN_TELLS_SECONDS:
                run = self._run(name, one, 1, expected[name])
                expected[name] = run["seconds"][0] if run else expected[name]
        return {n: seconds for n, seconds in expected.items() if result.engines[n].failure is None}

    def _rounds(
        self, case: Case, result: CaseResult, expected: dict[str, float], visits: _Visits
    ) -> None:
        everyone = [*expected, *visits.names]
        if not everyone:
            return
        self._say(f"{case.name}: round 1")
        self._round(case, result, expected, everyone, visits)
        first = {name: s for name in everyone if (s := result.engines[name].seconds[0]) is not None}
        behind = {} if self._asked_rounds else plan.far_behind(first)
        for name, factor in behind.items():
            _add_note(result.engines[name], f"one round: {factor:.1f} times the fastest's time")
        others = {name: seconds for name, seconds in first.items() if name not in behind}
        count = plan.rounds(case, others, self._effort, self._asked_rounds)
        for index in range(1, count):
            self._say(f"{case.name}: round {index + 1} of {count}")
            self._round(case, result, first, list(others), visits)

    def _round(
        self,
        case: Case,
        result: CaseResult,
        expected: dict[str, float],
        names: list[str],
        visits: _Visits,
    ) -> None:
        """A turn for each of the names, in a new order."""
        for one in result.engines.values():
            one.seconds.append(None)
            one.limits.append(None)
        for name in random.sample(names, len(names)):
            one = result.engines[name]
            is_visiting = name in visits.names
            if is_visiting and one.failure is None:
                self._worker(name).ask(do="load", case=case.name)
                answer = self._loaded(name, one)
                if answer is not None:
                    _compare(case, one, answer, visits.reference)
                    expected = {**expected, name: answer["first_seconds"]}
            if one.failure is None:
                self._turn(case, name, one, expected[name])
            if is_visiting:
                self._release([name])

    def _turn(self, case: Case, name: str, result: EngineResult, expected: float) -> None:
        result.limits[-1] = self._meter.measure()
        time.sleep(_PAUSE_SECONDS)
        run = self._run(name, result, plan.runs_in_turn(case, expected), expected)
        if run is not None:
            seconds = sorted(run["seconds"])
            result.seconds[-1] = seconds[len(seconds) // 2]
            result.peak_bytes = max(result.peak_bytes, run["peak_bytes"])

    def _run(
        self, name: str, result: EngineResult, runs: int, expected: float
    ) -> dict[str, Any] | None:
        """None when it failed, which the result then says."""
        worker = self._worker(name)
        worker.ask(do="run", runs=runs)
        try:
            return worker.answer(_PATIENCE_SECONDS + _SLOWEST_FACTOR * runs * expected)
        except WorkerError as error:
            result.failure = f"failed in a round: {error}"
            return None

    # --- Ending

    def _release(self, names: list[str]) -> None:
        alive = [n for n in names if n in self._workers and self._workers[n].is_alive]
        for name in alive:
            self._workers[name].ask(do="release")
        for name in alive:
            try:
                self._workers[name].answer(_PATIENCE_SECONDS)
            except WorkerError:
                self._stop([name])

    def _stop(self, names: list[str], *, wait: bool = True) -> None:
        for name in names:
            worker = self._workers.pop(name, None)
            if worker is not None:
                worker.stop(wait=wait)


def _compare(
    case: Case, result: EngineResult, answer: dict[str, Any], reference: dict[str, Any] | None
) -> None:
    """Whoever computes something else is not compared."""
    if reference is None:
        return
    expected, sample = torch.tensor(reference["sample"]), torch.tensor(answer["sample"])
    if sample.shape != expected.shape:
        result.failure = "its result has other sizes than eager's"
        return
    difference = float((sample - expected).abs().max() / expected.abs().max())
    if math.isfinite(difference):
        result.difference = difference
    if not difference <= _TOLERANCE.get(case.dtype, _TOLERANCE_16_BIT):
        result.failure = f"its result differs from eager's by {difference:.1e}"


def _add_note(result: EngineResult, note: str) -> None:
    result.note = f"{result.note}; {note}" if result.note else note
