"""Every op that the samplers know, compiled alone, against PyTorch.

What the CPU target takes runs there, the rest is left to torch: the values are right either way.
What docs/ops.md says to run does so in one of the calls at least.
"""

import itertools
import operator
import os
import random
import re

import op_samples
import pytest
import torch
from torch import fx
from torch.utils import _pytree as pytree
from unfuse.compiled_graph import compile_graph
from unfuse.fx_import import GraphInput
from unfuse.options import Options
from unfuse.report import Report

#: Refused by functionalization, which says so.
REFUSED = {"aten.as_strided_.default"}


def is_tested(row) -> bool:
    if row.rule in (None, "nothing_type") or not row.name.startswith("aten."):
        return False
    if row.name in REFUSED or "empty" in row.name:  # what is in an empty tensor is anybody's guess
        return False
    # Dropout is drawn in inference, where it is the identity.
    return "Random" not in row.traits or row.family == "dropout"


ROWS = [row for row in op_samples.catalogue_rows() if is_tested(row)]
CALLS = 4
#: UNFUSE_SEED draws other calls.
SEED = int(os.environ.get("UNFUSE_SEED", "0"))


def randomized(value: torch.Tensor) -> torch.Tensor:
    """The same type, with other elements; small integers, which may be indices, stay."""
    if not value.dtype.is_floating_point:
        return value
    storage = torch.randn(value.untyped_storage().nbytes() // value.element_size() or 1)
    return storage.to(value.dtype).as_strided(value.shape, value.stride(), value.storage_offset())


def graph_of(
    row, arguments, keywords, results, *, read: int
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """A graph of this one call, over its tensors, that returns the first `read` results."""
    graph = fx.Graph()
    tensors = []

    def placeholder(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        node = graph.placeholder(f"x{len(tensors)}")
        node.meta["val"] = leaf
        tensors.append(leaf)
        return node

    args, kwargs = pytree.tree_map(placeholder, (tuple(arguments), keywords))
    call = graph.call_function(row.overload, args, kwargs)
    several = len(row.overload._schema.returns) > 1
    listed = several or "[]" in row.schema.rsplit("->", 1)[1]
    call.meta["val"] = tuple(results) if several else list(results) if listed else results[0]
    outputs = [call]
    if listed:
        outputs = []
        for i, result in enumerate(results[:read]):
            element = graph.call_function(operator.getitem, (call, i))
            element.meta["val"] = result
            outputs.append(element)
    graph.output(tuple(outputs))
    return fx.GraphModule(torch.nn.Module(), graph), tensors


def calls_of(row, seed):
    """Calls that PyTorch takes, with what it gives."""
    for attempt in range(10 * CALLS):
        call = op_samples.draw_call(row, random.Random(f"values/{seed}/{row.name}/{attempt}"))
        if call is None:
            continue
        torch.manual_seed(attempt)
        arguments = pytree.tree_map_only(torch.Tensor, randomized, call[0])
        if "(a!)" in row.schema:  # an expanded tensor cannot be written to
            arguments = pytree.tree_map_only(torch.Tensor, torch.clone, arguments)
        if row.name == "aten.native_dropout.default":
            arguments[2] = False
        before = pytree.tree_map_only(torch.Tensor, clone_with_strides, arguments)
        results = op_samples.run(row, arguments, call[1])
        if results:
            yield before, call[1], results


def clone_with_strides(tensor):
    storage = tensor.untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype).set_(
        storage, tensor.storage_offset(), tensor.shape, tensor.stride()
    )


TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-5, torch.float64: 1e-5}


def assert_close(given, wanted):
    assert given.dtype == wanted.dtype
    assert given.shape == wanted.shape
    tolerance = TOLERANCES.get(wanted.dtype, 0)
    torch.testing.assert_close(
        given, wanted, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False
    )


def ops_that_run() -> set[str]:
    text = (op_samples.REPOSITORY / "docs/ops.md").read_text()
    return set(re.findall(r"^\| `([\w.]+)` \| (?:runs|composed) \|", text, re.MULTILINE))


RUN = ops_that_run()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_are_those_of_pytorch(row):
    calls = list(itertools.islice(calls_of(row, SEED), CALLS))
    assert calls
    # An op may run only where nobody reads more than its first result: the statistics of a norm.
    reasons = [reason_it_is_left(row, call, read) for call in calls for read in {len(call[2]), 1}]
    assert row.name not in RUN or not all(reasons), reasons


def reason_it_is_left(row, call, read) -> str:
    """Compares the first `read` results. "" when the op ran here."""
    arguments, keywords, results = call
    module, tensors = graph_of(row, arguments, keywords, results, read=read)
    inputs = [GraphInput("user", f"x{i}") for i in range(len(tensors))]
    report = Report()
    compiled = compile_graph(module, inputs, Options(), report)
    given = compiled([clone_with_strides(tensor) for tensor in tensors])
    for one, wanted in zip(given, results[:read], strict=True):
        assert_close(one, wanted)
    return "; ".join(left.reason for left in report.left_to_torch)
