"""Every op that the samplers know, exported alone, in ONNX Runtime against PyTorch."""

import itertools
import os
import re

import onnx_running
import op_samples
import pytest
import torch
import unfuse
from onnx_running import NEWEST
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from test_op_values import ROWS, assert_close, calls_of, graph_of
from unfuse import _unfuse
from unfuse.fx_import import GraphInput, import_graph

CALLS = 4
SEED = int(os.environ.get("UNFUSE_SEED", "0"))


def ops_with_a_form() -> set[str]:
    text = (op_samples.REPOSITORY / "docs/ops.md").read_text()
    return set(re.findall(r"^\| `([\w.]+)` \| \w+ \| yes \|$", text, re.MULTILINE))


EXPORTED = ops_with_a_form()


def reason_it_is_refused(call, opset, path) -> str:
    """Nothing when the call was exported, and gave what PyTorch gives."""
    row, arguments, keywords, results = call
    module, tensors = graph_of(row, arguments, keywords, results, read=len(results))
    inputs = [GraphInput("user", f"x{i}") for i in range(len(tensors))]
    graph = import_graph(module, inputs).graph
    try:
        _unfuse.export_graph_onnx(graph, os.fsencode(path), opset)
    except unfuse.Error as error:
        if error.kind != "unsupported":
            raise
        return str(error)
    onnx_running.check(path)
    try:
        runtime = onnx_running.Runtime(path)
    except ort_errors.NotImplemented as error:
        # Valid, but ONNX Runtime has no such kernel.
        return f"ONNX Runtime: {error}"
    given = {f"x{i}": tensor for i, tensor in enumerate(tensors)}
    got = runtime({name: given[name] for name in runtime.inputs})
    for one, wanted in zip(got.values(), results, strict=False):
        assert_close(one, wanted)
    return ""


@pytest.mark.parametrize("opset", [17, NEWEST])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_are_those_of_pytorch(row, opset, tmp_path):
    calls = list(itertools.islice(calls_of(row, SEED), CALLS))
    assert calls
    reasons = [
        reason_it_is_refused((row, *call), opset, tmp_path / "op.onnx")
        for call in calls
        if all(isinstance(result, torch.Tensor) for result in call[2])
    ]
    assert row.name not in EXPORTED or opset < NEWEST or not all(reasons), reasons
