"""Pieces that the target takes: planning for sizes, and running on torch's memory."""

from __future__ import annotations

from typing import Any

import torch

from .fx_arguments import dtype_name
from .parameters import ParameterCache

#: Plans kept a step beside the executable's own cache, to look up without leaving Python.
_PLANS = 64


class TargetStep:
    """Runs one compiled piece. Threads may call it at once."""

    def __init__(self, piece: Any) -> None:
        executable = piece.executable
        self._executable = executable
        self._run = executable.run
        self._outputs: list[int] = piece.output_slots
        parameters: list[int] = []
        #: The planned inputs in order: slot, and whether it is a tensor.
        self._inputs: list[tuple[int, bool]] = []
        for slot, (kind, form, known) in zip(piece.input_slots, executable.inputs, strict=True):
            if kind == "user":
                self._inputs.append((slot, form == "tensor"))
            elif kind != "literal" and not known:
                parameters.append(slot)
        self._cache = ParameterCache(executable, parameters)
        self._plans: dict[Any, tuple[Any, list[Any]]] = {}

    def __call__(self, slots: list[Any], symbols: dict[str, int], threads: int) -> None:
        values = [(slots[slot], is_tensor) for slot, is_tensor in self._inputs]
        key = (threads, *[(v.shape, v.stride()) if is_tensor else v for v, is_tensor in values])
        planned = self._plans.get(key)
        if planned is None:
            planned = self._plan(key, values, threads)
        plan, outputs = planned
        preparation = self._cache.preparation(slots)
        results = [
            torch.empty_strided(sizes, strides, dtype=dtype) for sizes, strides, dtype in outputs
        ]
        self._run(
            plan,
            preparation,
            [v.data_ptr() if is_tensor else 0 for v, is_tensor in values],
            [result.data_ptr() for result in results],
        )
        for slot, result in zip(self._outputs, results):
            slots[slot] = result

    def _plan(
        self, key: Any, values: list[tuple[Any, bool]], threads: int
    ) -> tuple[Any, list[Any]]:
        inputs = [_describe(v) if is_tensor else int(v) for v, is_tensor in values]
        plan = self._executable.plan(inputs, threads)
        outputs = [
            (sizes, strides, getattr(torch, dtype)) for dtype, sizes, strides in plan.output_types
        ]
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        self._plans[key] = (plan, outputs)
        return plan, outputs


def _describe(tensor: torch.Tensor) -> tuple[int, str, list[int], list[int], None]:
    """Sizes and strides for planning: no memory is read."""
    return (0, dtype_name(tensor.dtype), list(tensor.shape), list(tensor.stride()), None)
