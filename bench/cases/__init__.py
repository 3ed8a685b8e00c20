"""All that can be measured."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from . import calls, encoder, whole_models
from .case import Case, Work, Workload

__all__ = ["CASES", "Case", "Work", "Workload", "find", "select"]

CASES: list[Case] = sorted(
    [*encoder.CASES, *whole_models.CASES, *calls.CASES], key=lambda case: case.rank
)


def find(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def select(patterns: Sequence[str], *, quick: bool) -> list[Case]:
    """Those whose name matches a pattern, such as "encoder/*/float32/*" (none: all; with `quick`,
    the quick ones), in the order of their rank. Raises ValueError for a pattern that matches none.
    """
    if not patterns:
        return [case for case in CASES if case.quick or not quick]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(case.name, pattern) for case in CASES):
            raise ValueError(f"no case matches {pattern!r}")
    return [case for case in CASES if any(fnmatch.fnmatchcase(case.name, p) for p in patterns)]
