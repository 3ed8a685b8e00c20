"""PyTorch as it is, with its fast path for encoder layers and without."""

from __future__ import annotations

import torch

from bench.cases import Case, Workload

from .python_model import PythonModel


class Eager(PythonModel):
    """The fast path on, as it is when one installs PyTorch."""

    name = "eager"
    # The fused op writes the scores, and their softmax.
    score_copies = 2

    def prepare(self, case: Case, workload: Workload) -> None:
        self.model = workload.model


class EagerSdpa(Eager):
    """The fast path off: attention is scaled_dot_product_attention."""

    name = "eager-sdpa"
    score_copies = 0

    def prepare(self, case: Case, workload: Workload) -> None:
        torch.backends.mha.set_fastpath_enabled(False)
        super().prepare(case, workload)
