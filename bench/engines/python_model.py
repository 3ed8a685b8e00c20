"""Engines that run a model by calling it from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from .engine import Engine


class PythonModel(Engine):
    """`prepare` sets what is called."""

    model: Callable[..., Any] | None = None

    def bind(self, inputs: tuple[Tensor, ...]) -> Callable[[], Any]:
        model = self.model
        assert model is not None
        return lambda: model(*inputs)

    def release(self) -> None:
        super().release()
        self.model = None
