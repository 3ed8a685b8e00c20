"""Windows (as_strided) on an input's storage, in graphs that write to that storage.

Such a window may show places that the input does not; which it shows depends on where the input
begins, and nothing guards that. A graph made functional has tensors and no storages: what is
written there is lost, and what was written elsewhere is not seen there, in every backend that goes
through AOTAutograd (docs/facts.md). Torch runs these graphs as they were captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree

from . import origin
from .aliases import has_storage
from .capture import trace_to_aten
from .report import LeftOp

_aten = torch.ops.aten
_SCATTER = _aten.as_strided_scatter.default
_WINDOWS = (
    _aten.as_strided.default,
    _aten.as_strided_.default,
    _aten.as_strided_copy.default,
    _SCATTER,
)


def windows_to_leave(module: fx.GraphModule, example_inputs: Sequence[Any]) -> list[LeftOp]:
    """The windows of a dynamo graph for whose sake torch has to run it; mostly there are none."""
    if not any("as_strided" in _name(node) for node in module.graph.nodes):
        return []
    traced, _ = trace_to_aten(module, example_inputs)
    nodes = list(traced.graph.nodes)
    inputs = {
        storage for node in traced.graph.find_nodes(op="placeholder") for storage in _storages(node)
    }
    written = {storage for node in nodes for storage in _written_storages(node)}
    return [
        _left(node)
        for node in nodes
        if node.target in _WINDOWS
        for storage in _storages(node.args[0])
        if storage in inputs and (storage in written or node.target is _SCATTER)
    ]


def _name(node: fx.Node) -> str:
    return (
        node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))
    )


def _storages(node: fx.Node) -> Iterator[StorageWeakRef]:
    for value in pytree.tree_leaves(node.meta.get("val")):
        if has_storage(value):
            yield StorageWeakRef(value.untyped_storage())


def _written_storages(node: fx.Node) -> Iterator[StorageWeakRef]:
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
        for operand in pytree.tree_leaves(given):
            if isinstance(operand, fx.Node):
                yield from _storages(operand)


def _left(node: fx.Node) -> LeftOp:
    return LeftOp(
        str(node.target),
        1,
        "it shows an input's storage, to which the graph writes: torch runs all of the graph",
        origin.module_path(node),
        origin.source_line(node),
    )
