"""Latency against length, as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .engines import OURS
from .results import CaseResult

#: (dtype, mask) of a panel, with its results by length.
Panels = dict[tuple[str, str], dict[int, CaseResult]]


def panels(results: Iterable[CaseResult]) -> Panels:
    """The encoder's cases of batch 1, those where at least two lengths were measured."""
    found: Panels = {}
    for result in results:
        what, *rest = result.name.split("/")
        if what != "encoder" or not rest[0].startswith("1x") or not result.usable():
            continue
        size, dtype, mask = rest
        found.setdefault((dtype, mask), {})[int(size.removeprefix("1x"))] = result
    return {panel: dict(sorted(by.items())) for panel, by in found.items() if len(by) > 1}


def limit_seconds(result: CaseResult) -> float:
    """What the machine's limits would allow: arithmetic or memory, whichever takes longer."""
    limits = result.limits()
    assert limits is not None, "a case with results has limits"
    return max(
        result.work.flops / limits.arithmetic(result.is_bfloat16),
        result.work.bytes / limits.bytes_per_second,
    )


def write(path: Path, found: Panels, title: str) -> None:
    """Needs matplotlib, and at least one panel."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, len(found))
    rows = math.ceil(len(found) / columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(6.4 * columns, 4.8 * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    for axis, ((dtype, mask), by_length) in zip(axes.flat, found.items()):
        _draw(axis, by_length)
        axis.set_title(f"6 encoder layers, {dtype}, mask: {mask}")
    figure.suptitle(title, fontsize="small")
    figure.savefig(path, format="png", dpi=120)
    pyplot.close(figure)


def _draw(axis: Any, by_length: dict[int, CaseResult]) -> None:
    engines = dict.fromkeys(name for result in by_length.values() for name in result.usable())
    for name in engines:
        points = [(n, 1e3 * r.median(name)) for n, r in by_length.items() if name in r.usable()]
        is_ours = name in OURS
        axis.plot(*zip(*points), marker="o", label=name, linewidth=2.5 if is_ours else 1.2)
    limit = [1e3 * limit_seconds(result) for result in by_length.values()]
    axis.plot(list(by_length), limit, color="black", linestyle=":", label="limit of the machine")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(list(by_length), [str(length) for length in by_length], rotation=45)
    axis.minorticks_off()
    axis.set_xlabel("length")
    axis.set_ylabel("latency, ms")
    axis.grid(True, which="major", alpha=0.3)
    axis.legend(fontsize="small")
