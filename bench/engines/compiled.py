"""torch.compile with its own backends."""

from __future__ import annotations

import os
from typing import Any

import torch

from bench.cases import Case, Workload

from .python_model import PythonModel


class Compiled(PythonModel):
    """Any backend of torch.compile."""

    backend = "eager"

    def options(self, case: Case) -> dict[str, Any]:
        return {}

    def prepare(self, case: Case, workload: Workload) -> None:
        torch._dynamo.reset()
        self.model = torch.compile(
            workload.model,
            backend=self.backend,
            options=self.options(case) or None,
            dynamic=True if case.varies else None,
        )

    def release(self) -> None:
        super().release()
        torch._dynamo.reset()


class DynamoEager(Compiled):
    """torch.compile that compiles nothing: what every backend pays at a call."""

    name = "dynamo-eager"


class Inductor(Compiled):
    """PyTorch's own compiler, with weights frozen (packed when compiled). The fast path is off: it
    would be one opaque call a layer, which inductor leaves to eager, and slower."""

    name = "inductor"
    backend = "inductor"

    def options(self, case: Case) -> dict[str, Any]:
        return {"freezing": True}

    def prepare(self, case: Case, workload: Workload) -> None:
        torch.backends.mha.set_fastpath_enabled(False)
        # Compiled code of earlier runs would make compiling look cheap.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self.folder)
        super().prepare(case, workload)
