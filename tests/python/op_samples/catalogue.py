"""The rows of src/ops/<family>.cc, read from their text."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

import torch

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


@dataclass
class Row:
    """A row of src/ops/<family>.cc."""

    name: str
    schema: str
    rule: str | None
    traits: str
    family: str

    @property
    def overload(self):
        _, packet, overload = self.name.split(".")
        return getattr(getattr(torch.ops.aten, packet), overload)


def catalogue_rows() -> list[Row]:
    rows = []
    for path in sorted((REPOSITORY / "src/ops").glob("*.cc")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        if "OpInfo kRows[]" not in text:
            continue
        for body in re.findall(r'\{\s*("(?:aten|unfuse)\.[^;]*?)\},?\n(?=\s*\{|\};|\s*\n)', text):
            strings = re.findall(r'"((?:[^"\\]|\\.)*)"', body)
            rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", body)
            words = re.findall(r"\w+", rest)
            rules = [word for word in words if word.endswith("_type")]
            traits = [word for word in words if re.match(r"k[A-Z]", word)]
            rows.append(
                Row(
                    name=strings[0],
                    schema="".join(strings[1:]).replace('\\"', '"'),
                    rule=rules[0] if rules else None,
                    traits=traits[0] if traits else "",
                    family=path.stem,
                )
            )
    return rows
