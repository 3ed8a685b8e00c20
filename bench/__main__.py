"""./dev bench"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import tempfile
from pathlib import Path

from . import arguments, engines, judgement, machine, plan, plot, record, report
from .arguments import Arguments
from .connection import WorkerError
from .limits import PROGRAM, LimitsMeter
from .results import CaseResult, EngineResult
from .session import Session

_LIBRARIES = ("unfuse", "torch", "onnxruntime", "openvino")


def main() -> int:
    options = arguments.parse()
    if options.list:
        print("\n".join(case.name for case in options.cases))
        return 0
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        return _complain("--plot needs matplotlib, which is not installed")
    if not PROGRAM.exists():
        return _complain(f"{PROGRAM.name} is not built: run ./dev build")
    described = machine.describe()
    versions = _versions()
    print(report.header(described, versions, options.threads), flush=True)
    results = _measure_all(options)
    verdicts = judgement.judge(
        {result.name: result for result in results}, has_amx=described.has_amx
    )
    parts = (
        report.overview(results),
        report.notes(results),
        report.skipped(results),
        report.verdicts(verdicts),
    )
    print("\n" + "\n\n".join(part for part in parts if part))
    if options.json:
        record.write(
            options.json, record.record(described, versions, options.threads, results, verdicts)
        )
    if options.plot:
        _plot(options.plot, results, f"{described}; {options.threads} threads")
    return 0


def _measure_all(options: Arguments) -> list[CaseResult]:
    places, absent = _available(options.engines)
    results: list[CaseResult] = []
    clock = plan.Clock(options.minutes)
    with tempfile.TemporaryDirectory(prefix="unfuse-bench-") as folder:
        meter = LimitsMeter(options.threads, Path(folder) / "limits.log")
        with Session(
            places,
            options.threads,
            Path(folder),
            meter,
            effort=options.effort,
            asked_rounds=options.rounds,
            say=_say,
        ) as session:
            try:
                for case in options.cases:
                    result = _measure_one(session, case, clock, meter, options.effort)
                    _add_absent(result, case, absent)
                    results.append(result)
                    _say("")
                    if not result.skipped:
                        print(f"\n{report.case_table(result)}", flush=True)
            except KeyboardInterrupt:
                print("\ninterrupted; what follows is of the cases before", flush=True)
            finally:
                meter.stop()
    return results


def _measure_one(
    session: Session, case: plan.Case, clock: plan.Clock, meter: LimitsMeter, effort: plan.Effort
) -> CaseResult:
    taking_part = [name for name in session.engines if engines.take_part(name, case)]
    flops = meter.measure().flops_per_second
    if not clock.has_time_for(case, len(taking_part), flops, effort):
        return CaseResult(case.name, case.work, skipped="no time left (--minutes)")
    result = session.measure(case)
    clock.loaded(session.loading_seconds)
    return result


def _available(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Where each engine's class is, and why others cannot be had."""
    places, absent = {}, {}
    for name in names:
        reason = engines.load(engines.ENGINES[name]).missing()
        if reason is None:
            places[name] = engines.ENGINES[name]
        else:
            absent[name] = reason
    return places, absent


def _add_absent(result: CaseResult, case: plan.Case, absent: dict[str, str]) -> None:
    for name, reason in absent.items():
        if engines.take_part(name, case):
            result.engines[name] = EngineResult(failure=reason)


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _plot(path: Path, results: list[CaseResult], title: str) -> None:
    panels = plot.panels(results)
    if panels:
        plot.write(path, panels, title)
    else:
        print("nothing to plot: it takes the encoder at two lengths at least", file=sys.stderr)


def _say(text: str) -> None:
    """What goes on, on a terminal: one line that is written over."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _complain(text: str) -> int:
    print(f"bench: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except WorkerError as error:
        sys.exit(_complain(str(error)))
