"""Ours, through the C++ command: no Python and no torch where the model runs."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import bench
from bench.cases import Case, Workload
from bench.peak_memory import high_water_mark

from .engine import Engine, Measured

COMMAND = bench.ROOT / "build" / "release" / "bin" / "unfuse"


class UnfuseCommand(Engine):
    """Runs `unfuse run --repeat`, which tells the latency of its runs: loading, compiling and the
    first run are not in it."""

    name = "unfuse-command"
    needs = ("safetensors",)

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or (None if COMMAND.exists() else f"not built ({COMMAND.name})")

    def prepare(self, case: Case, workload: Workload) -> None:
        import safetensors.torch

        self._model = self.folder / f"{case.family}.pt2"
        self._inputs = self.folder / "inputs.safetensors"
        self._outputs = self.folder / "outputs.safetensors"
        if not self._model.exists():
            for other in self.folder.glob("*.pt2"):
                other.unlink()
            torch.export.save(_export(workload), self._model)
        # Eager's nested tensors leave padded rows out as well.
        zeroes = case.mask == "padding" and case.name.startswith("encoder/")
        self._options = ["--padded-rows", "zero"] if zeroes else []
        named = {f"arr_{i}": tensor for i, tensor in enumerate(workload.inputs)}
        safetensors.torch.save_file(named, self._inputs)

    def bind(self, inputs: tuple[Tensor, ...]) -> Callable[[], Any]:
        raise NotImplementedError("the command times its own runs")

    def warm_up(self, workload: Workload) -> None:
        """The command's first run is not timed."""

    def measure(self, workload: Workload, first_run: int, runs: int) -> Measured:
        arguments = [str(self._model), "--inputs", str(self._inputs), "--repeat", str(runs)]
        arguments += self._options
        if first_run == 0:
            arguments += ["--outputs", str(self._outputs)]
        printed, peak = self._run([*arguments, "--threads", str(self.threads), "--json"])
        said = json.loads(printed)
        return Measured([said["latency_ms"]["median"] / 1e3], peak, said["outputs"][0]["name"])

    def numbers(self, result: str) -> Tensor:
        import safetensors.torch

        return safetensors.torch.load_file(self._outputs)[result].float()

    def _run(self, arguments: list[str]) -> tuple[str, int]:
        """What it printed, and the most memory that it had, in bytes."""
        process = subprocess.Popen(
            [str(COMMAND), "run", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        peak = 0
        status = Path(f"/proc/{process.pid}/status")
        # Not what wait4() tells: that counts this process too, from before the command began.
        while process.poll() is None:
            peak = max(peak, high_water_mark(status))
            time.sleep(0.02)
        printed, errors = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(errors.strip() or f"unfuse run: exit code {process.returncode}")
        return printed, peak


def _export(workload: Workload) -> torch.export.ExportedProgram:
    # Strict: with the fused op in it.
    return torch.export.export(
        workload.model, workload.inputs, dynamic_shapes=workload.dynamic_shapes(), strict=True
    )
