"""Exports two real models, runs them both ways, and compares with eager.

    ./dev demo

(a) a 6-layer nn.TransformerEncoder, exported so that the file holds six opaque
    aten._transformer_encoder_layer_fwd nodes, and (b) a ViT-B/16 on nn.MultiheadAttention, go
    through torch.compile(model, backend="unfuse") and, as .pt2 files, through the C++ command.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import models  # beside this file
import torch
import unfuse
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

FUSED_LAYER = "aten._transformer_encoder_layer_fwd.default"
ROUNDS = 15


@dataclasses.dataclass
class Case:
    name: str
    model: nn.Module
    input: Tensor
    strict: bool
    fused_layers: int


@dataclasses.dataclass
class Row:
    """A line of the table."""

    model: str
    way: str
    graphs: int
    partitions: int
    left: int
    difference: float
    eager_ms: float
    ours_ms: float

    def cells(self) -> list[str]:
        return [
            self.model,
            self.way,
            str(self.graphs),
            str(self.partitions),
            str(self.left),
            f"{self.difference:.1e}",
            f"{self.eager_ms:.1f}",
            f"{self.ours_ms:.1f}",
        ]


HEADER = ["model", "through", "graphs", "partitions", "left to torch"]
HEADER += ["max difference", "eager ms", "ours ms"]


def cases() -> list[Case]:
    torch.manual_seed(1)
    return [
        # Only a strict export under no_grad keeps the layers' fast path, one fused op a layer.
        Case("encoder", models.encoder(), torch.randn(4, 128, 512), True, 6),
        Case("vit_b_16", models.vit_b_16(), torch.randn(1, 3, 224, 224), False, 0),
    ]


def export(case: Case, folder: pathlib.Path) -> pathlib.Path:
    program = torch.export.export(case.model, (case.input,), strict=case.strict)
    found = sum(str(node.target) == FUSED_LAYER for node in program.graph.nodes)
    assert found == case.fused_layers, f"{case.name} holds {found} fused layers"
    path = folder / f"{case.name}.pt2"
    torch.export.save(program, path)
    return path


def median_ms(calls: list[Callable[[], object]]) -> list[float]:
    """Medians of each call's time. Calls take turns, so that all meet the same machine."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, measured in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            measured.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(measured) for measured in times]


def compiled_row(case: Case, expected: Tensor) -> Row:
    report = unfuse.explain(case.model, case.input)
    compiled = torch.compile(case.model, backend="unfuse")
    difference = (compiled(case.input) - expected).abs().max().item()
    eager_ms, ours_ms = median_ms([lambda: case.model(case.input), lambda: compiled(case.input)])
    left = sum(entry["count"] for entry in report.as_dict()["left_to_torch"])
    return Row(
        case.name,
        "torch.compile",
        report.graphs,
        report.partitions,
        left,
        difference,
        eager_ms,
        ours_ms,
    )


def command(*arguments: str | pathlib.Path) -> dict:
    """Runs the unfuse command, and reads the JSON that it prints."""
    done = subprocess.run([*map(str, arguments), "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def command_row(
    case: Case, expected: Tensor, binary: pathlib.Path, folder: pathlib.Path, eager_ms: float
) -> Row:
    path = export(case, folder)
    inputs, outputs = folder / f"{case.name}.in.safetensors", folder / f"{case.name}.safetensors"
    report = command(binary, "inspect", path)
    save_file({report["inputs"][0]["name"]: case.input}, inputs)
    threads = ("--threads", str(torch.get_num_threads()))
    ran = command(
        binary,
        "run",
        path,
        "--inputs",
        inputs,
        "--outputs",
        outputs,
        "--repeat",
        str(ROUNDS),
        *threads,
    )
    (result,) = load_file(outputs).values()
    return Row(
        case.name,
        "unfuse run",
        report["graphs"],
        report["partitions"],
        sum(entry["count"] for entry in report["left_to_torch"]),
        (result - expected).abs().max().item(),
        eager_ms,
        ran["latency_ms"]["median"],
    )


def print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unfuse", type=pathlib.Path, required=True, help="the C++ command")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/demo"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    rows = []
    with torch.no_grad():
        for case in cases():
            print(f"{case.name}: compiling, exporting, running ...", file=sys.stderr)
            expected = case.model(case.input)
            compiled = compiled_row(case, expected)
            rows.append(compiled)
            rows.append(
                command_row(case, expected, options.unfuse, options.folder, compiled.eager_ms)
            )
    print_table([HEADER, *(row.cells() for row in rows)])
    print(
        f"\nfloat32, {torch.get_num_threads()} threads; median of {ROUNDS} runs; eager and the "
        "compiled model took turns.\nThe exported encoder holds six opaque encoder layers; the "
        f"files are in {options.folder}."
    )
    wrong = [row for row in rows if not row.difference < 1e-3 or row.left or row.partitions != 1]
    if wrong:
        raise SystemExit("not as it should be: " + ", ".join(f"{r.model} {r.way}" for r in wrong))


if __name__ == "__main__":
    main()
