"""Results as JSON: everything that was measured, for other programs to read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .judgement import Verdict
from .machine import Machine
from .results import CaseResult


def record(
    machine: Machine,
    versions: dict[str, str],
    threads: int,
    results: Iterable[CaseResult],
    verdicts: Iterable[Verdict],
) -> dict[str, Any]:
    return {
        "machine": dataclasses.asdict(machine),
        "versions": versions,
        "threads": threads,
        "cases": [_case(result) for result in results],
        "verdicts": [
            {"requirement": one.requirement, "passed": one.passed, "detail": one.detail}
            for one in verdicts
        ],
    }


def write(path: Path, recorded: dict[str, Any]) -> None:
    path.write_text(json.dumps(recorded, indent=1) + "\n")


def _case(result: CaseResult) -> dict[str, Any]:
    said = dataclasses.asdict(result)
    ours = result.ours()
    best = result.best_peer(ours) if ours else None
    for name in result.usable():
        low, high = result.quartiles(name)
        said["engines"][name] |= {
            "median_seconds": result.median(name),
            "quartiles_seconds": [low, high],
        }
        if result.work.flops:
            said["engines"][name] |= {
                "share_of_arithmetic": result.arithmetic_share(name),
                "share_of_memory": result.memory_share(name),
            }
    said["best_peer"] = {"name": best[0], "times_ours": best[1]} if best else None
    return said
