"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import cases, plan
from .engines import ENGINES

FULL_MINUTES = 40.0
QUICK_MINUTES = 3.0


@dataclass
class Arguments:
    cases: list[cases.Case]
    engines: list[str]
    threads: int
    rounds: int | None
    minutes: float | None
    effort: plan.Effort
    json: Path | None
    plot: Path | None
    list: bool


def parse(given: Sequence[str] | None = None) -> Arguments:
    """Exits with code 2 and a message for what cannot be."""
    parser = _parser()
    options = parser.parse_args(given)
    try:
        selected = cases.select(options.cases or [], quick=options.quick)
    except ValueError as error:
        parser.error(f"{error}; --list shows them all")
    unknown = [name for name in options.engines or [] if name not in ENGINES]
    if unknown:
        parser.error(f"no engine {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    for path in (options.json, options.plot):
        if path is not None and not path.absolute().parent.is_dir():
            parser.error(f"there is no folder {path.parent}")
    return Arguments(
        cases=selected,
        engines=[name for name in ENGINES if name in (options.engines or ENGINES)],
        threads=options.threads,
        rounds=options.rounds,
        minutes=_minutes(options),
        effort=plan.QUICK if options.quick else plan.FULL,
        json=options.json,
        plot=options.plot,
        list=options.list,
    )


def _minutes(options: argparse.Namespace) -> float | None:
    if options.minutes is not None:
        return options.minutes
    if options.cases:
        return None  # whoever names cases wants them
    return QUICK_MINUTES if options.quick else FULL_MINUTES


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measures whole models in PyTorch, in other engines and in unfuse, turn by "
        "turn, and says where unfuse reaches what it must. docs/benchmarks.md explains it.",
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"a few cases, in {QUICK_MINUTES:.0f} minutes"
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        metavar="PATTERN",
        help="only cases whose name matches, such as 'encoder/*/float32/*'",
    )
    parser.add_argument(
        "--engines", nargs="+", metavar="NAME", help=f"only these, of {', '.join(ENGINES)}"
    )
    parser.add_argument("--list", action="store_true", help="list the cases, and stop")
    parser.add_argument(
        "--threads",
        type=_count,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="threads of every engine (default: all cores)",
    )
    parser.add_argument(
        "--rounds", type=_count, metavar="N", help="rounds of every case (default: as fits)"
    )
    parser.add_argument(
        "--minutes",
        type=_minutes_given,
        metavar="M",
        help=f"leave out cases that do not fit (default: {FULL_MINUTES:.0f}; with --quick "
        f"{QUICK_MINUTES:.0f}; with --cases no limit)",
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all numbers there")
    parser.add_argument(
        "--plot", type=Path, metavar="PATH", help="write a PNG, latency against length, there"
    )
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _minutes_given(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value
