"""Reading exported programs: the graph that the C++ reader makes, against the one that torch has.

Nodes, names, element types, sizes, strides, constants and source lines are compared for programs
exported here; the files of tests/data/reader are read by the C++ tests.
"""

import operator
import os
import pathlib
import re
import subprocess

import models
import pytest
import torch
from torch import nn
from torch.export import Dim

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = pathlib.Path(os.environ.get("UNFUSE_COMMAND", ROOT / "build/release/bin/unfuse"))
DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "b8",
}


def inspect(program, tmp_path):
    """The text form of a program's graph, as lines."""
    torch.export.save(program, tmp_path / "model.pt2")
    ran = subprocess.run(
        [COMMAND, "inspect", "--graph", tmp_path / "model.pt2"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return [line for line in ran.stdout.splitlines() if line.startswith("%")]


def is_size_arithmetic(node):
    return isinstance(node.meta.get("val"), int | torch.SymInt) and (
        node.target is torch.ops.aten.sym_size.int or node.target.__module__ == "_operator"
    )


def torch_nodes(program):
    """Calls of a program without what the reader folds away: unpacking, arithmetic on sizes."""
    for node in program.graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        if not is_size_arithmetic(node):
            yield node


def results(node):
    """(name, fake tensor) of each result; name is None where nobody takes it."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return [(node.name, value)]
    if value is None:
        return []
    names = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
    return [(names.get(index), tensor) for index, tensor in enumerate(value)]


def size_text(size):
    """A size as we write it; None for sums and products, whose form the C++ tests know."""
    return str(size) if re.fullmatch(r"\w+", str(size)) else None


def check(program, tmp_path):
    lines = inspect(program, tmp_path)
    nodes = list(torch_nodes(program))
    # Asserts define nothing and print no result.
    defining = [node for node in nodes if results(node)]
    assert len(lines) == len(defining)
    for line, node in zip(lines, defining):
        left, right = line.split(" = ", 1)
        assert right.startswith(str(node.target) + "("), line
        values = re.findall(r"%([\w.]+): (\w+)\[([^]]*)\]( strides \[[^]]*\])?", left)
        assert len(values) == len(results(node)), line
        for (name, dtype, sizes, strides), (wanted, tensor) in zip(values, results(node)):
            assert wanted is None or name == wanted
            assert dtype == DTYPES[tensor.dtype]
            found = [size for size in sizes.split(", ") if size]
            assert len(found) == tensor.dim()
            for size, expected in zip(found, tensor.shape):
                assert size_text(expected) in (None, size), line
            if all(isinstance(size, int) for size in tensor.shape):
                assert bool(strides) == (not tensor.is_contiguous()), line
    return lines


class Sizes(nn.Module):
    def forward(self, x, y):
        pairs = x.reshape(x.shape[0], -1, 2)
        return torch.cat([pairs, pairs * 2], 1), x[1:] + 1, y.new_zeros(y.shape[0] * 3)


class Lists(nn.Module):
    def forward(self, x):
        first, second = x.chunk(2, -1)
        values, indices = torch.topk(first + second, 2)
        return values, indices, torch.stack(x.unbind(0)), nn.functional.layer_norm(x, (4,))


class Copies(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("running", torch.zeros(4))

    def forward(self, x):
        self.running.mul_(0.5).add_(x.mean(0))
        return x.half().float() + self.running, x.t().to(torch.bfloat16), x > 0, x.argmax(-1)


CASES = {
    "sizes": (Sizes, (torch.randn(6, 4), torch.randn(5)), ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})),
    "lists": (Lists, (torch.randn(3, 4),), None),
    "copies": (Copies, (torch.randn(3, 4),), None),
    "bert": (
        models.bert_like,
        (torch.randint(0, 100, (2, 7)), torch.ones(2, 7, dtype=torch.int64)),
        ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}),
    ),
    "vision": (
        lambda: models.vision_transformer(32, 8, 2, 2, 16, 32, 10),
        (torch.randn(2, 3, 32, 32),),
        None,
    ),
    "encoder": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2
        ).eval(),
        (torch.randn(2, 5, 8),),
        ({0: Dim("batch", max=64), 1: Dim.DYNAMIC},),
    ),
}


@pytest.mark.parametrize(
    ("strict", "core"), [(False, False), (True, False), (False, True)], ids=str
)
@pytest.mark.parametrize("name", CASES)
def test_graph_is_torchs(name, strict, core, tmp_path):
    make, inputs, dynamic_shapes = CASES[name]
    program = torch.export.export(make(), inputs, strict=strict, dynamic_shapes=dynamic_shapes)
    if core:
        program = program.run_decompositions()
    check(program, tmp_path)
