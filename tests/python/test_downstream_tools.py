"""What other tools make of opened programs; each test runs where its tool is installed."""

import numpy
import pytest
import torch
import unfuse
from test_decompose import encoder, exported
from torch.export import Dim

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def program():
    """The model whose ONNX export fails without this, smaller."""
    with torch.no_grad():
        torch.manual_seed(0)
        model, x = encoder(layers=2, width=64, norm_first=True), torch.randn(3, 10, 64)
        sizes = ({0: Dim("batch", max=64), 1: Dim("length", max=512)},)
        return model, exported(model, x, dynamic_shapes=sizes)


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_torch_onnx_export(program, to, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    model, before = program
    path = str(tmp_path / "model.onnx")
    torch.onnx.export(unfuse.decompose(before, to=to), dynamo=True).save(path)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch, length in ((3, 10), (2, 17)):
        x = torch.randn(batch, length, 64)
        (result,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        numpy.testing.assert_allclose(result, model(x).numpy(), **TOLERANCE)


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_openvino(program, to):
    openvino = pytest.importorskip("openvino")
    model, before = program
    compiled = openvino.compile_model(
        openvino.convert_model(unfuse.decompose(before, to=to)), "CPU"
    )
    for batch, length in ((3, 10), (2, 17)):
        x = torch.randn(batch, length, 64)
        result = compiled([x.numpy()])[0]
        # OpenVINO computes in bfloat16 where the machine can.
        numpy.testing.assert_allclose(result, model(x).numpy(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_aot_inductor(program, to, tmp_path):
    model, before = program
    path = torch._inductor.aoti_compile_and_package(
        unfuse.decompose(before, to=to), package_path=str(tmp_path / "model.pt2")
    )
    compiled = torch._inductor.aoti_load_package(path)
    for batch, length in ((3, 10), (2, 17)):
        x = torch.randn(batch, length, 64)
        torch.testing.assert_close(compiled(x), model(x), **TOLERANCE)


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_executorch(program, to):
    exir = pytest.importorskip("executorch.exir")
    _, before = program
    edge = exir.to_edge(unfuse.decompose(before, to=to))
    assert edge.to_executorch().buffer
