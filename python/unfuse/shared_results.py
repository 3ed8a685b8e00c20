"""Results that share memory with one another: views of one tensor that the graph computes, and
that tensor several times.

A compiled graph gives every result memory of its own. Where eager returns several views of one
tensor, a later write to one must be seen through the others: the graph returns that tensor, and
the views are made from it after the run. (AOTAutograd makes them where gradients are wanted, and
leaves it to the graph where not.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from unfuse._unfuse import Dim

from .aliases import has_storage, places_of_symbols
from .symbolic import is_data_dependent, to_dim
from .traced_layout import TracedLayout


@dataclass
class _Shown:
    """A result of eager, as a window on a result of the graph."""

    base: TracedLayout
    sizes: list[Dim]
    strides: list[Dim]
    offset: Dim
    dtype: torch.dtype
    result: int = -1  #: of the graph

    @classmethod
    def of(cls, value: torch.Tensor, base: torch.Tensor) -> _Shown:
        layout = TracedLayout.of(base)
        assert layout is not None
        return cls(
            layout,
            [to_dim(size) for size in value.shape],
            [to_dim(stride) for stride in value.stride()],
            to_dim(value.storage_offset()),
            value.dtype,
        )

    def made(self, base: torch.Tensor, symbols: dict[str, int]) -> torch.Tensor:
        sizes = [size.evaluate(symbols) for size in self.sizes]
        strides = [stride.evaluate(symbols) for stride in self.strides]
        return base.view(self.dtype).as_strided(sizes, strides, self.offset.evaluate(symbols))

    def symbols(self) -> set[str]:
        dims = (*self.sizes, *self.strides, self.offset, *(self.base.strides or ()))
        return {symbol for dim in dims for symbol in dim.symbols()}


@dataclass
class SharedResults:
    #: What each result of eager is: a result of the graph, or a window on one.
    results: list[int | _Shown]
    symbols: dict[str, tuple[int, int | None]]

    @classmethod
    def take(cls, traced: fx.GraphModule) -> SharedResults:
        """Has the graph return the tensors that several of its results show, in their place."""
        placeholders = [node.meta.get("val") for node in traced.graph.find_nodes(op="placeholder")]
        places = places_of_symbols(placeholders)
        (output,) = traced.graph.find_nodes(op="output")
        returned = list(output.args[0])
        bases = _bases(traced.graph, returned)
        kept: list[Any] = []
        indices: dict[fx.Node, int] = {}

        def keep(node: Any) -> int:
            at = indices.setdefault(node, len(kept)) if isinstance(node, fx.Node) else len(kept)
            if at == len(kept):
                kept.append(node)
            return at

        results: list[int | _Shown] = []
        needed: set[str] = set()
        for node in returned:
            base = bases.get(node) if isinstance(node, fx.Node) else None
            shown = _Shown.of(node.meta["val"], base.meta["val"]) if base is not None else None
            if shown is None or not shown.symbols() <= places.keys():
                results.append(keep(node))
                continue
            shown.result = keep(base)
            needed |= shown.symbols()
            results.append(shown)
        output.args = (tuple(kept),)
        return cls(results, {symbol: places[symbol] for symbol in needed})

    def restore(self, computed: list[Any], arguments: Sequence[Any]) -> list[Any]:
        if all(result == index for index, result in enumerate(self.results)):
            return computed
        symbols = {
            symbol: arguments[index] if dim is None else arguments[index].shape[dim]
            for symbol, (index, dim) in self.symbols.items()
        }
        bases: dict[int, torch.Tensor] = {}
        results = []
        for result in self.results:
            if isinstance(result, int):
                results.append(computed[result])
                continue
            if result.result not in bases:
                bases[result.result] = result.base.laid_out(computed[result.result], symbols)
            results.append(result.made(bases[result.result], symbols))
        return results


def _bases(graph: fx.Graph, returned: Sequence[Any]) -> dict[fx.Node, fx.Node]:
    """For each returned node that shares its storage with another: the node that has all of it."""
    by_storage: dict[StorageWeakRef, list[fx.Node]] = {}
    for node in dict.fromkeys(node for node in returned if isinstance(node, fx.Node)):
        value = node.meta.get("val")
        if has_storage(value) and not is_data_dependent(value):
            by_storage.setdefault(StorageWeakRef(value.untyped_storage()), []).append(node)
    shared = {storage: nodes for storage, nodes in by_storage.items() if len(nodes) > 1}
    bases = {}
    for node in graph.nodes if shared else ():
        value = node.meta.get("val")
        if not has_storage(value):
            continue
        # The first node that has a storage: an input, what made it, or a view with no base here.
        users = shared.pop(StorageWeakRef(value.untyped_storage()), ())
        if node.op == "call_function" and _has_all(value):
            size = value.element_size()
            same = [user for user in users if user.meta["val"].element_size() == size]
            bases.update(dict.fromkeys(same, node))
    return bases


def _has_all(value: torch.Tensor) -> bool:
    """Whether the tensor shows every element of its storage, each once."""
    begins = bool(value.storage_offset() == 0)
    dense = torch._prims_common.is_non_overlapping_and_dense_or_false(value)
    size = value.numel() * value.element_size()
    return begins and dense and bool(value.untyped_storage().nbytes() == size)
