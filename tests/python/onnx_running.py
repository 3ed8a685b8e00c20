"""Exports models to ONNX, checks the files as onnx does, and runs them in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import torch
import unfuse
from compiling import assert_close
from torch.utils import _pytree as pytree

NEWEST = unfuse._unfuse.newest_opset
#: The oldest that is written, the first with Gelu, the first with Attention, and the newest.
OPSETS = [17, 20, 23, NEWEST]


def check(path):
    """What onnx says of a file: its checker, and shape inference, both strict."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(path, load_external_data=False)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return model


class Runtime:
    """A file in ONNX Runtime, on the CPU, with torch tensors in and out."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, inputs):
        """Name to tensor, both ways."""
        values = {name: ort_value(tensor) for name, tensor in inputs.items()}
        results = self.session.run_with_ort_values(self.outputs, values)
        return dict(zip(self.outputs, map(torch_tensor, results), strict=True))


def ort_value(tensor):
    tensor = torch.as_tensor(tensor).detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        bits = tensor.view(torch.int16).numpy().view(np.uint16)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
            bits, onnx.TensorProto.BFLOAT16
        )
    return onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy())


def torch_tensor(value):
    if value.data_type() == "tensor(bfloat16)":
        return torch.from_dlpack(value._ortvalue.to_dlpack())
    return torch.from_numpy(value.numpy().copy())


def export(program, path, opset):
    """The file in ONNX Runtime, after onnx has checked it."""
    unfuse.export_onnx(program, path, opset=opset)
    model = check(path)
    assert model.opset_import[0].version == opset
    return Runtime(path)


def exported(model, args, kwargs=None, **options):
    with torch.no_grad():
        return torch.export.export(model, args, kwargs, **options)


def run(runtime, args, kwargs=None):
    """Results by position, for inputs by position: names are compared elsewhere."""
    leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs or {})) if leaf is not None]
    return list(runtime(dict(zip(runtime.inputs, leaves, strict=True))).values())


def compare(runtime, model, args, kwargs=None, **tolerances):
    got = run(runtime, args, kwargs)
    want = pytree.tree_leaves(model(*args, **(kwargs or {})))
    assert len(got) == len(want)
    for left, right in zip(got, want, strict=True):
        assert_close(left, right, **tolerances)
