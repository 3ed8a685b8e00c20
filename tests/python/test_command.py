"""The C++ command against Python's readers and writers of the same files, and exported models."""

import json

import numpy
import pytest
import torch
from command import unfuse
from safetensors.torch import load_file, save_file


class Copies(torch.nn.Module):
    """Gives every input back, changed so little that any dtype can say it."""

    def forward(self, tensors):
        return [tensor.flip(0) for tensor in tensors]


DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
]


@pytest.fixture
def copies(tmp_path):
    """A model of one input a dtype, its file, and the names of its inputs and outputs."""
    tensors = [torch.arange(-2, 4).reshape(3, 2).to(dtype) for dtype in DTYPES]
    program = torch.export.export(Copies(), (tensors,))
    torch.export.save(program, tmp_path / "copies.pt2")
    described = json.loads(unfuse("inspect", "--json", tmp_path / "copies.pt2").stdout)
    names = [[entry["name"] for entry in described[key]] for key in ("inputs", "outputs")]
    return tmp_path / "copies.pt2", tensors, *names


def test_reads_and_writes_safetensors(copies, tmp_path):
    model, tensors, inputs, outputs = copies
    save_file(dict(zip(inputs, tensors)), tmp_path / "in.safetensors")
    ran = unfuse(
        "run",
        model,
        "--inputs",
        tmp_path / "in.safetensors",
        "--outputs",
        tmp_path / "o.safetensors",
    )
    assert ran.returncode == 0, ran.stderr
    written = load_file(tmp_path / "o.safetensors")
    for name, tensor in zip(outputs, tensors):
        assert written[name].dtype == tensor.dtype
        assert written[name].equal(tensor.flip(0)), name


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_reads_and_writes_npz(save, copies, tmp_path):
    model, tensors, inputs, outputs = copies
    numbers = [index for index, dtype in enumerate(DTYPES) if dtype != torch.bfloat16]
    arrays = {inputs[index]: tensors[index].numpy() for index in numbers}
    save(tmp_path / "in.npz", **arrays)
    missing = unfuse("run", model, "--inputs", tmp_path / "in.npz")
    assert missing.returncode == 2 and inputs[DTYPES.index(torch.bfloat16)] in missing.stderr

    tensors.pop(DTYPES.index(torch.bfloat16))
    program = torch.export.export(Copies(), (tensors,))
    torch.export.save(program, model)
    save(tmp_path / "in.npz", *(tensor.numpy() for tensor in tensors))
    ran = unfuse("run", model, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    assert ran.returncode == 0, ran.stderr
    with numpy.load(tmp_path / "out.npz") as written:
        assert len(written.files) == len(tensors)
        for name, tensor in zip(written.files, tensors):
            assert written[name].dtype == tensor.numpy().dtype
            assert numpy.array_equal(written[name], tensor.flip(0).numpy()), name


def test_objects_are_never_unpickled(copies, tmp_path):
    model, *_ = copies
    numpy.savez(tmp_path / "in.npz", arr_0=numpy.array([{"a": 1}], dtype=object))
    ran = unfuse("run", model, "--inputs", tmp_path / "in.npz")
    assert ran.returncode == 3 and "Python objects" in ran.stderr


def test_verify_agrees_with_eager(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    x = torch.randn(5, 8)
    with torch.no_grad():
        program = torch.export.export(model, (x,))
        expected = model(x)
    torch.export.save(program, tmp_path / "m.pt2")
    described = json.loads(unfuse("inspect", "--json", tmp_path / "m.pt2").stdout)
    save_file({described["inputs"][0]["name"]: x}, tmp_path / "in.safetensors")
    save_file({described["outputs"][0]["name"]: expected}, tmp_path / "out.safetensors")
    arguments = ("--inputs", tmp_path / "in.safetensors", "--expect", tmp_path / "out.safetensors")
    assert unfuse("verify", tmp_path / "m.pt2", *arguments).returncode == 0
    save_file({described["outputs"][0]["name"]: expected + 1}, tmp_path / "out.safetensors")
    assert unfuse("verify", tmp_path / "m.pt2", *arguments).returncode == 1
