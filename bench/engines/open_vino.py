"""OpenVINO. It knows no fused encoder layer: the model is converted without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bench.cases import Case, Workload

from .engine import Engine

#: Above this, the first run is as good as a second.
_FIRST_RUN_TELLS_SECONDS = 1.0


class OpenVino(Engine):
    name = "openvino"
    score_copies = 2
    keeps_scores = True
    needs = ("openvino",)

    def prepare(self, case: Case, workload: Workload) -> None:
        self.note = "converted without the fast path: OpenVINO cannot take the fused op"
        model = self._converted(case, workload)
        model.reshape({i: list(workload.inputs[p].shape) for i, p in enumerate(self._used)})
        requests = {}
        for precision in _precisions(case):
            compiled = _compile(model, precision, self.threads)
            if _computes_in(compiled, precision):
                requests[precision] = compiled.create_infer_request()
            else:
                self.note += f"; {precision} would be computed in fewer digits here"
        self.request: Any = None
        if len(requests) == 1:
            (self.request,) = requests.values()
            return
        precision = min(requests, key=lambda each: self._seconds(requests[each], workload))
        self.request = requests[precision]
        self.note += f"; computed in {precision}, the faster of {' and '.join(requests)}"

    def bind(self, inputs: tuple[Tensor, ...]) -> Callable[[], Any]:
        request = self.request
        tensors = self._tensors(inputs)
        return lambda: request.infer(tensors, share_inputs=True, share_outputs=True)

    def numbers(self, result: Any) -> Tensor:
        return _to_torch(self.request.get_output_tensor(0))

    def release(self) -> None:
        super().release()
        self.request = None

    def _converted(self, case: Case, workload: Workload) -> Any:
        """A model of any length, converted once a family."""
        import openvino

        path = self.folder / f"{case.family}.xml"
        if not path.exists():
            for other in [*self.folder.glob("*.xml"), *self.folder.glob("*.bin")]:
                other.unlink()
            torch.backends.mha.set_fastpath_enabled(False)
            exported = torch.export.export(
                workload.model, workload.inputs, dynamic_shapes=workload.dynamic_shapes()
            )
            model = openvino.convert_model(exported)
            openvino.save_model(model, path, compress_to_fp16=False)
        model = openvino.Core().read_model(path)
        self._used = workload.positions([each.any_name for each in model.inputs])
        return model

    def _tensors(self, inputs: tuple[Tensor, ...]) -> dict[int, Any]:
        return {i: _from_torch(inputs[position]) for i, position in enumerate(self._used)}

    def _seconds(self, request: Any, workload: Workload) -> float:
        tensors = self._tensors(workload.inputs)
        seconds = 0.0
        for _ in range(2):
            start = time.perf_counter()
            request.infer(tensors)
            seconds = time.perf_counter() - start
            if seconds > _FIRST_RUN_TELLS_SECONDS:
                break
        return seconds


def _precisions(case: Case) -> list[str]:
    """What to compute in, without losing digits that the model has: by itself OpenVINO computes
    float32 and float16 models in bfloat16 where the machine has that, which is another result. The
    fastest is taken."""
    narrow = {torch.float16: ["f16"], torch.bfloat16: ["bf16"]}
    return ["f32", *narrow.get(case.dtype, [])]


def _compile(model: Any, precision: str, threads: int) -> Any:
    import openvino

    properties = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision,
    }
    return openvino.compile_model(model, "CPU", properties)


def _computes_in(compiled: Any, precision: str) -> bool:
    """Without float16 in hardware bfloat16 is taken in its place, and the hint then says so."""
    return compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name() == precision


def _from_torch(tensor: Tensor) -> Any:
    import openvino

    if tensor.dtype != torch.bfloat16:
        return openvino.Tensor(tensor.numpy(), shared_memory=True)
    bits = tensor.contiguous().view(torch.int16).numpy()
    return openvino.Tensor(bits, list(tensor.shape), openvino.Type.bf16)


def _to_torch(tensor: Any) -> Tensor:
    import openvino

    if tensor.element_type != openvino.Type.bf16:
        return torch.from_numpy(tensor.data.copy()).float()
    bits = torch.from_numpy(tensor.data.view("int16").copy())
    return bits.view(torch.bfloat16).float()
