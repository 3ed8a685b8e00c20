"""What became of a model: what was opened, what is left to torch, and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any


@dataclass
class LeftOp:
    """A kind of op that runs in torch, at one place of the model."""

    op: str  #: "aten.fft_rfft.default"
    count: int
    reason: str
    module_path: str  #: of the first such node; empty when unknown
    source: str  #: "model.py:41", the user's line of the first such node; may be empty


@dataclass
class Report:
    graphs: int = 0
    graph_breaks: int = 0
    #: Pieces that run on the target, of all graphs; None where nothing is compiled for one.
    partitions: int | None = 0
    #: Fused op to how many nodes of it were opened.
    opened: dict[str, int] = field(default_factory=dict)
    left_to_torch: list[LeftOp] = field(default_factory=list)
    #: Things worth knowing, a sentence each.
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `unfuse inspect --json` uses the same keys."""
        return dataclasses.asdict(self)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def add(self, other: Report) -> None:
        """Adds what became of one more graph."""
        self.graphs += other.graphs
        self.graph_breaks += other.graph_breaks
        if self.partitions is not None and other.partitions is not None:
            self.partitions += other.partitions
        for op, count in other.opened.items():
            self.opened[op] = self.opened.get(op, 0) + count
        self.left_to_torch += other.left_to_torch
        for text in other.notes:
            self.note(text)

    def __str__(self) -> str:
        rows = [
            ("graphs", str(self.graphs)),
            ("graph breaks", str(self.graph_breaks)),
        ]
        if self.partitions is not None:
            left = sum(left.count for left in self.left_to_torch)
            rows += [("partitions", str(self.partitions)), ("left to torch", str(left))]
        rows += [(f"opened {op}", str(count)) for op, count in sorted(self.opened.items())]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        if self.left_to_torch:
            lines += ["", *_table(self.left_to_torch)]
        if self.notes:
            lines += ["", *(f"note: {text}" for text in self.notes)]
        return "\n".join(lines)


def _table(left: list[LeftOp]) -> list[str]:
    header = ("op", "count", "module", "source", "why it is left to torch")
    rows = [(op.op, str(op.count), op.module_path, op.source, op.reason) for op in left]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip()
        for row in (header, *rows)
    ]
