"""Results that share memory with inputs. AOTAutograd makes such results anew from the inputs, but
may take their strides and offsets from what the compiled graph returned, so both paths need this.

A compiled graph computes its results into memory of their own. Where eager returns an input, or a
view of one, a later write to either must be seen through the other: those results are made from
the input after the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from unfuse._unfuse import Dim

from .errors import Error
from .symbolic import to_dim


@dataclass
class _View:
    """Its strides are those that were traced: what was computed may lie otherwise."""

    placeholder: int
    strides: list[Dim]
    offset: Dim
    #: Whether the offset is the input's own and so much more, and not counted from the storage's
    #: first place, as as_strided counts: where an input begins is not guarded.
    relative: bool

    def of(
        self, computed: torch.Tensor, base: torch.Tensor, symbols: dict[str, int]
    ) -> torch.Tensor:
        strides = tuple(stride.evaluate(symbols) for stride in self.strides)
        offset = self.offset.evaluate(symbols)
        if self.relative:
            offset += base.storage_offset()
        same = offset == base.storage_offset() and strides == base.stride()
        if same and computed.shape == base.shape:
            return base
        return base.as_strided(computed.shape, strides, offset)

    def symbols(self) -> set[str]:
        return {symbol for dim in (*self.strides, self.offset) for symbol in dim.symbols()}


@dataclass
class Aliases:
    views: dict[int, _View]  #: by result index
    #: Where the symbols that the views need are found: an argument, and which of its sizes; None
    #: where the argument is the number.
    symbols: dict[str, tuple[int, int | None]]

    @classmethod
    def find(cls, traced: fx.GraphModule) -> Aliases:
        placeholders = [node.meta.get("val") for node in traced.graph.find_nodes(op="placeholder")]
        inputs: dict[StorageWeakRef, tuple[int, torch.Tensor]] = {}
        for index, value in enumerate(placeholders):
            if has_storage(value):
                inputs.setdefault(StorageWeakRef(value.untyped_storage()), (index, value))
        (output,) = traced.graph.find_nodes(op="output")
        views = {}
        for index, node in enumerate(output.args[0]):
            value = node.meta.get("val") if isinstance(node, fx.Node) else None
            if not has_storage(value):
                continue
            found = inputs.get(StorageWeakRef(value.untyped_storage()))
            if found is not None and value.dtype == found[1].dtype:
                relative = not _is_placed(node)
                offset = value.storage_offset()
                if relative:
                    offset -= found[1].storage_offset()
                strides = [to_dim(stride) for stride in value.stride()]
                views[index] = _View(found[0], strides, to_dim(offset), relative)
        needed = set().union(*(view.symbols() for view in views.values()))
        places = places_of_symbols(placeholders)
        if not needed <= places.keys():
            raise Error(
                "a result is a view of an input, and where it lies there depends on data",
                "unsupported",
                hint="return a clone of it",
            )
        return cls(views, {symbol: places[symbol] for symbol in needed})

    def restore(self, results: list[Any], arguments: Sequence[Any]) -> list[Any]:
        symbols = {
            symbol: arguments[index] if dim is None else arguments[index].shape[dim]
            for symbol, (index, dim) in self.symbols.items()
        }
        for index, view in self.views.items():
            results[index] = view.of(results[index], arguments[view.placeholder], symbols)
        return results


def _is_placed(node: fx.Node) -> bool:
    """Whether a view's place in its storage was given, and not what it is a view of."""
    while node.op == "call_function" and node.all_input_nodes:
        if node.target is torch.ops.aten.as_strided.default:
            if (*node.args[3:], node.kwargs.get("storage_offset"))[0] is not None:
                return True
        node = node.args[0] if isinstance(node.args[0], fx.Node) else node.all_input_nodes[0]
    return False


def places_of_symbols(placeholders: Sequence[Any]) -> dict[str, tuple[int, int | None]]:
    """Where the value of a symbol is found: an argument, and which of its sizes; None where the
    argument is the number."""
    places: dict[str, tuple[int, int | None]] = {}
    for index, traced in enumerate(placeholders):
        is_tensor = isinstance(traced, torch.Tensor)
        for dim, number in enumerate(traced.shape) if is_tensor else [(None, traced)]:
            if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol:
                places.setdefault(number.node.expr.name, (index, dim))
    return places


def has_storage(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
