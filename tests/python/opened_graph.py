"""Functions traced, opened by the passes in C++, and run: by torch alone, or by the CPU target.

Run by torch, every op that the passes leave is an ATen op once attention is written back: what is
compared then is the decomposition, not our kernels.
"""

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from unfuse import _unfuse
from unfuse.compiled_graph import CompiledGraph
from unfuse.fx_import import GraphInput, import_graph

FUSED = {
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
    "attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math",
}


def trace(function, tensors, tracing="fake", pre_dispatch=True):
    """The function's ATen graph, composite ops kept unless `pre_dispatch` is false, and where its
    symbolic sizes are found."""
    with torch.no_grad():
        module = make_fx(function, tracing_mode=tracing, pre_dispatch=pre_dispatch)(*tensors)
    return module, declare_symbols(module)


def declare_symbols(module):
    """Gives a graph an input for each symbolic size, as Dynamo does; returns where they are found:
    (index of the tensor, dimension)."""
    tensors = [node for node in module.graph.nodes if node.op == "placeholder"]
    found = {}
    for index, node in enumerate(tensors):
        for dimension, size in enumerate(node.meta["val"].shape):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                found.setdefault(str(size), (size, index, dimension))
    for name, (size, _, _) in found.items():
        with module.graph.inserting_before(tensors[0]):
            module.graph.placeholder(name).meta["val"] = size
    return [place[1:] for place in found.values()]


class Opened:
    """What trace() gives, with its fused ops opened, as something to call."""

    def __init__(self, traced, rows="op", compile_graph=_unfuse.open_for_torch):
        module, self._sizes = traced
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        imported = import_graph(module, [GraphInput("user", node.name) for node in placeholders])
        compiled = compile_graph(imported.graph, rows)
        nodes = [piece for piece in compiled.pieces if not piece.on_target]
        self.ops = [node.op for node in nodes]
        self.arguments = [{name: value for name, _, value in node.arguments} for node in nodes]
        self.opened = dict(compiled.report.opened)
        self.notes = list(compiled.report.notes)
        self._run = CompiledGraph(compiled, imported)

    def __call__(self, *tensors):
        sizes = [tensors[index].shape[dimension] for index, dimension in self._sizes]
        with torch.no_grad():
            return self._run([*sizes, *tensors])


def run(function, tensors):
    """The results as a list, computed without the kernels that only a GPU has."""
    with torch.no_grad(), sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        results = function(*tensors)
    return [results] if isinstance(results, torch.Tensor) else list(results)


class Results:
    """What a function gives, and what it would give in float64."""

    def __init__(self, function, tensors):
        self.eager = run(function, tensors)
        wide = [t.double() if t.is_floating_point() else t for t in tensors]
        self.exact = run(function, wide)

    def compare(self, actual):
        """At most twice the error of eager, and four roundings of the largest element."""
        assert len(actual) == len(self.eager)
        for ours, eager, exact in zip(actual, self.eager, self.exact):
            if eager is None:
                assert ours is None
                continue
            assert ours.dtype == eager.dtype and ours.shape == eager.shape
            assert torch.equal(ours.isnan(), eager.isnan())
            if not ours.numel():
                continue
            rounding = 4 * torch.finfo(ours.dtype).eps * exact.nan_to_num(0).abs().max()
            ours, eager, exact = (t.double().nan_to_num(0) for t in (ours, eager, exact))
            assert (ours - exact).abs().max() <= 2 * (eager - exact).abs().max() + rounding


def check(function, *tensors, tracing="fake", others=None):
    """The opened graph gives what the function gives and holds nothing fused; and the CPU target
    takes all of it, float64 excepted. `others` are of other sizes, for symbolic ones."""
    return check_graph(trace(function, tensors, tracing), function, *tensors, others=others)


def check_graph(traced, function, *tensors, others=None):
    opened, on_target = Opened(traced), Opened(traced, compile_graph=_unfuse.compile)
    assert not [op for op in opened.ops if op.split(".")[1] in FUSED], opened.ops
    assert on_target.ops == [] or any(t.dtype == torch.float64 for t in tensors)
    for arguments in [tensors] if others is None else [tensors, others]:
        results = Results(function, arguments)
        results.compare(opened(*arguments))
        results.compare(on_target(*arguments))
    return opened


def random(*sizes, dtype=torch.float32, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


def bool_mask(*sizes):
    """About a third is masked, in no row all."""
    mask = torch.rand(*sizes, generator=torch.Generator().manual_seed(1)) < 0.35
    mask[..., 0] = False
    return mask
