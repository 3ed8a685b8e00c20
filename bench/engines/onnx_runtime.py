"""ONNX Runtime. ONNX has no op for the fused encoder layer: models are exported without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bench.cases import Case, Workload

from .engine import Engine


class OnnxRuntime(Engine):
    name = "onnxruntime"
    score_copies = 2
    keeps_scores = True
    needs = ("onnxruntime", "onnx", "onnxscript")

    def prepare(self, case: Case, workload: Workload) -> None:
        import onnxruntime

        self.note = "exported without the fast path: ONNX has no such op"
        path = self.folder / f"{case.family}.onnx"
        if not path.exists():
            for other in self.folder.glob("*.onnx"):
                other.unlink()
            torch.backends.mha.set_fastpath_enabled(False)
            torch.onnx.export(
                workload.model,
                workload.inputs,
                path,
                dynamo=True,
                external_data=False,
                dynamic_shapes=workload.dynamic_shapes(),
                verbose=False,
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        if workload.length_dims:
            options.add_free_dimension_override_by_name("length", case.length)
        self.session: Any = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        names = [each.name for each in self.session.get_inputs()]
        self._used = dict(zip(names, workload.positions(names)))

    def bind(self, inputs: tuple[Tensor, ...]) -> Callable[[], Any]:
        session = self.session
        arrays = {name: inputs[position].numpy() for name, position in self._used.items()}
        return lambda: session.run(None, arrays)

    def release(self) -> None:
        super().release()
        self.session = None
