"""PyTorch as it is, with its fast path for encoder layers and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bench.cases import Case, Workload

from .engine import Engine


class Eager(Engine):
    """The fast path on, as it is when one installs PyTorch."""

    name = "eager"
    # The fused op writes the scores, and their softmax.
    score_copies = 2

    def prepare(self, case: Case, workload: Workload) -> None:
        self.model: nn.Module | None = workload.model

    def bind(self, inputs: tuple[Tensor, ...]) -> Callable[[], Any]:
        model = self.model
        return lambda: model(*inputs)

    def release(self) -> None:
        super().release()
        self.model = None


class EagerSdpa(Eager):
    """The fast path off: attention is scaled_dot_product_attention."""

    name = "eager-sdpa"
    score_copies = 0

    def prepare(self, case: Case, workload: Workload) -> None:
        torch.backends.mha.set_fastpath_enabled(False)
        super().prepare(case, workload)
