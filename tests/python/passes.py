"""Functions through the passes, with torch running every node of what comes out: so a difference
from eager is a fault of a pass, and of no kernel."""

import re

import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from unfuse import _unfuse
from unfuse.capture import trace_to_aten
from unfuse.compiled_graph import CompiledGraph
from unfuse.fx_import import GraphInput, import_graph

#: How graphs reach us: with composites kept, as torch.export does; decomposed, with mutations;
#: functional, as AOTAutograd makes them.
DIALECTS = ("export", "make_fx", "aot")


def trace(function, inputs, dialect):
    copies = clones(inputs)
    if dialect == "export":
        return make_fx(function, tracing_mode="fake", pre_dispatch=True)(*copies)
    if dialect == "aot":
        function = functionalize(function, remove="mutations")
    return make_fx(function, tracing_mode="fake")(*copies)


class Passed:
    """What the passes make of a function."""

    def __init__(self, function, inputs, dialect="make_fx", parameters=(), fully_masked_rows="op"):
        """`parameters` are the places of inputs that count as parameters."""
        module = trace(function, inputs, dialect)
        kinds = ["parameter" if i in parameters else "user" for i in range(len(inputs))]
        described = [GraphInput(kind, f"input{i}") for i, kind in enumerate(kinds)]
        imported = import_graph(module, described)
        self.before = str(imported.graph)
        compiled = _unfuse.open_for_torch(imported.graph, fully_masked_rows)
        self.text = str(compiled)
        self._run = CompiledGraph(compiled, imported)

    @property
    def ops(self):
        """The ops of the graph that is left, each once."""
        return set(re.findall(r"= ([a-z_]+\.\w+(?:\.\w+)?)\(", self.text))

    def __call__(self, *inputs):
        return self._run(list(inputs))


def dynamic(function, graphs):
    """The function through torch.compile with symbolic sizes, and the passes. The text of what is
    left is appended to `graphs`."""

    def backend(module, example_inputs):
        traced, _ = trace_to_aten(module, example_inputs)
        inputs = [GraphInput("user", f"input{i}") for i in range(len(example_inputs))]
        imported = import_graph(traced, inputs)
        compiled = _unfuse.open_for_torch(imported.graph, "op")
        graphs.append(str(compiled))
        run = CompiledGraph(compiled, imported)
        return lambda *arguments: run(list(arguments))

    return torch.compile(function, backend=backend, dynamic=True, fullgraph=True)


def clones(tensors):
    """With the strides that they have."""
    return [
        torch.empty_strided(t.size(), t.stride(), dtype=t.dtype).copy_(t)
        if t.numel()
        else t.clone()
        for t in tensors
    ]


def assert_same(passed, function, inputs, rtol=1e-5, atol=1e-6):
    """The same results, and the same left in the inputs."""
    before = getattr(passed, "before", "")
    text = getattr(passed, "text", "")
    expected_inputs, given = clones(inputs), clones(inputs)
    expected = function(*expected_inputs)
    if isinstance(expected, torch.Tensor):
        expected = (expected,)
    results = passed(*given)
    if isinstance(results, torch.Tensor):
        results = (results,)
    assert len(results) == len(expected), text
    for result, wanted in zip([*results, *given], [*expected, *expected_inputs]):
        assert result.dtype == wanted.dtype and result.shape == wanted.shape, text
        torch.testing.assert_close(
            result,
            wanted,
            rtol=rtol,
            atol=atol,
            equal_nan=True,
            msg=lambda message: f"{message}\nfrom\n{before}\nthe passes made\n{text}",
        )
