"""Ours, through torch.compile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.cases import Case, Workload

from .compiled import Compiled


class Unfuse(Compiled):
    name = "unfuse"
    backend = "unfuse"
    needs = ("unfuse",)

    def prepare(self, case: Case, workload: Workload) -> None:
        super().prepare(case, workload)
        if case.fresh:
            _time_our_parts(self.parts)


class UnfuseZeroRows(Unfuse):
    """With the option that gives what eager's nested tensors give: zeros at padded rows."""

    name = "unfuse-zero-rows"

    def options(self, case: Case) -> dict[str, Any]:
        return {"padded_rows": "zero"}


def _time_our_parts(parts: dict[str, float]) -> None:
    """Notes in `parts` how long compiling the next graph takes from when we receive it, and how
    long its first call."""
    import unfuse.backend

    compile_graph = unfuse.backend.compile_graph

    def timed_compile(*arguments: Any) -> Callable[[Sequence[Any]], Any]:
        unfuse.backend.compile_graph = compile_graph
        start = time.perf_counter()
        compiled = compile_graph(*arguments)
        parts["compile graph"] = time.perf_counter() - start

        def first_call_timed(values: Sequence[Any]) -> Any:
            if "first call of graph" in parts:
                return compiled(values)
            began = time.perf_counter()
            result = compiled(values)
            parts["first call of graph"] = time.perf_counter() - began
            return result

        return first_call_timed

    unfuse.backend.compile_graph = timed_compile
