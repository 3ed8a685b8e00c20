"""Results as text."""

from __future__ import annotations

from collections.abc import Iterable

from .judgement import Verdict
from .machine import Machine
from .results import CaseResult

_MISSING = "-"


def case_table(result: CaseResult) -> str:
    """A line an engine: its median, how long it takes beside unfuse, its share of the limits."""
    if result.skipped:
        return f"{result.name}\n  not measured: {result.skipped}"
    ours = result.ours()
    rows = [["", "median", "quartiles", "x unfuse", "GFLOP/s", "of arithmetic", "of memory"]]
    rows += [_engine_row(result, name, ours) for name in result.engines]
    lines = [f"{result.name}  {_work(result)}", *_aligned(rows)]
    return "\n".join(lines)


def overview(results: Iterable[CaseResult]) -> str:
    """A line a case, a column an engine."""
    measured = [result for result in results if not result.skipped and result.usable()]
    if not measured:
        return ""
    engines = list(dict.fromkeys(name for result in measured for name in result.engines))
    rows = [["median, ms", *engines, "best peer", "takes x unfuse"]]
    for result in measured:
        row = [result.name]
        for name in engines:
            is_usable = name in result.usable()
            row.append(f"{1e3 * result.median(name):.4g}" if is_usable else _MISSING)
        ours = result.ours()
        best = result.best_peer(ours) if ours else None
        row += [best[0], f"{best[1]:.2f}"] if best else [_MISSING, _MISSING]
        rows.append(row)
    return "\n".join(_aligned(rows))


def skipped(results: Iterable[CaseResult]) -> str:
    return "\n".join(f"not measured: {r.name}: {r.skipped}" for r in results if r.skipped)


def verdicts(found: Iterable[Verdict]) -> str:
    return "\n".join(f"{one.word}  {one.requirement}: {one.detail}" for one in found)


def header(machine: Machine, versions: dict[str, str], threads: int) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{machine}\n{libraries}; {threads} threads, random inputs"


def notes(results: Iterable[CaseResult]) -> str:
    """What is to be known of engines, each once, with the first case that it was said of."""
    said: dict[tuple[str, str], str] = {}
    for result in results:
        for name, one in result.engines.items():
            for note in one.note.split("; "):
                if note and not note.startswith("one round"):
                    said.setdefault((name, note), result.name)
    return "\n".join(f"{name}: {note}" for name, note in said)


def _engine_row(result: CaseResult, name: str, ours: str | None) -> list[str]:
    one = result.engines[name]
    if not one.is_usable:
        return [name, one.failure or "no turn"]
    low, high = result.quartiles(name)
    ratio = result.ratio(name, ours) if ours else None
    row = [
        name,
        f"{1e3 * result.median(name):.4g} ms",
        f"{1e3 * low:.4g} to {1e3 * high:.4g}",
        f"{ratio:.2f}" if ratio is not None else _MISSING,
    ]
    if result.work.flops:
        row += [
            f"{result.work.flops / result.median(name) / 1e9:.0f}",
            f"{result.arithmetic_share(name):.2f}",
            f"{result.memory_share(name):.2f}",
        ]
    one_round = next((n for n in one.note.split("; ") if n.startswith("one round")), None)
    return [*row, one_round] if one_round else row


def _work(result: CaseResult) -> str:
    rounds = max((len(one.seconds) for one in result.engines.values()), default=0)
    limits = result.limits()
    parts = [f"{rounds} rounds"]
    if result.work.flops:
        parts.insert(0, f"{result.work.flops / 1e9:.4g} GFLOP, {result.work.bytes / 1e6:.4g} MB")
    if limits is not None:
        gflops, gigabytes = (
            limits.arithmetic(result.is_bfloat16) / 1e9,
            limits.bytes_per_second / 1e9,
        )
        parts.append(f"limits {gflops:.0f} GFLOP/s, {gigabytes:.1f} GB/s")
    return "; ".join(parts)


def _aligned(rows: list[list[str]]) -> list[str]:
    """Columns under one another: the first to the left, numbers to the right. A row that ends
    early holds a sentence in its last cell, which is as long as it likes."""
    whole = max(len(row) for row in rows)
    columns = len(rows[0])
    widths = [
        max(len(row[i]) for row in rows if len(row) > 2 and i < len(row)) if whole > 2 else 0
        for i in range(columns)
    ]
    widths[0] = max(len(row[0]) for row in rows)
    lines = []
    for row in rows:
        if len(row) <= 2 < columns:
            lines.append(f"  {row[0]:{widths[0]}}  {row[-1]}".rstrip())
            continue
        cells = [f"{row[0]:{widths[0]}}"]
        cells += [f"{cell:>{widths[i]}}" for i, cell in enumerate(row[1:columns], 1)]
        lines.append("  " + "  ".join([*cells, *row[columns:]]).rstrip())
    return lines
