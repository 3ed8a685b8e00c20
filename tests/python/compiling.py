"""Compiling with a report at hand, and comparing with the captured graph run by torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from unfuse.backend import compile_module
from unfuse.options import Options
from unfuse.report import Report
from unfuse.target_step import TargetStep

# float32 is computed in another order; 16 bits are rounded less often than eager does.
TOLERANCE = {
    torch.float64: {"rtol": 1e-5, "atol": 1e-6},
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.float16: {"rtol": 1e-2, "atol": 4e-3},
    torch.bfloat16: {"rtol": 4e-2, "atol": 4e-2},
}


class Compiled:
    """torch.compile(model, backend="unfuse", options=options), and the report of its graphs."""

    def __init__(self, model: Any, *, dynamic: bool | None = None, **options: Any) -> None:
        self.report = Report()
        parsed = Options.parse(options)

        def backend(module: Any, example_inputs: Any) -> Any:
            return compile_module(module, example_inputs, parsed, self.report)

        self.function = torch.compile(model, backend=backend, dynamic=dynamic)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def assert_whole(self, graphs: int = 1) -> None:
        """Nothing is left to torch, and every graph is one partition."""
        assert self.report.left_to_torch == []
        assert self.report.graphs == graphs
        assert self.report.partitions == graphs


def captured(model: Any, *args: Any, **kwargs: Any) -> Any:
    """The reference for right: the captured graph, run by torch."""
    return torch.compile(model, backend="eager")(*args, **kwargs)


def assert_close(actual: torch.Tensor, expected: torch.Tensor, **tolerance: float) -> None:
    tolerance = tolerance or TOLERANCE.get(expected.dtype, {"rtol": 0.0, "atol": 0.0})
    torch.testing.assert_close(actual, expected, equal_nan=True, **tolerance)


def plan_steps(model: Any, *inputs: Any, **options: Any) -> list[str]:
    """The steps of the plan that the compiled model runs, all pieces one after another."""
    steps: list[str] = []
    make_plan = TargetStep._plan

    def recorded(self: TargetStep, *arguments: Any) -> Any:
        planned = make_plan(self, *arguments)
        steps.extend(planned[0].steps)
        return planned

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TargetStep, "_plan", recorded)
        with torch.no_grad():
            Compiled(model, **options)(*inputs)
    return steps
