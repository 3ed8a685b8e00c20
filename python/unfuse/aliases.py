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

import sympy
import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef


@dataclass
class _View:
    """Its strides are those that were traced: what was computed may lie otherwise."""

    placeholder: int
    strides: tuple[int | torch.SymInt, ...]
    offset: int | torch.SymInt  #: in the input's storage, beyond the input's own

    def of(
        self, computed: torch.Tensor, base: torch.Tensor, symbols: dict[sympy.Symbol, int]
    ) -> torch.Tensor:
        strides = tuple(_evaluate(stride, symbols) for stride in self.strides)
        offset = _evaluate(self.offset, symbols)
        if offset == 0 and computed.shape == base.shape and strides == base.stride():
            return base
        return base.as_strided(computed.shape, strides, base.storage_offset() + offset)


def _evaluate(number: int | torch.SymInt, symbols: dict[sympy.Symbol, int]) -> int:
    if isinstance(number, int):
        return number
    return int(number.node.expr.subs(symbols))


def _bind(traced: int | torch.SymInt, given: int, symbols: dict[sympy.Symbol, int]) -> None:
    if isinstance(traced, torch.SymInt) and traced.node.expr.is_Symbol:
        symbols.setdefault(traced.node.expr, given)


@dataclass
class Aliases:
    """By result index."""

    views: dict[int, _View]
    placeholders: list[Any]  #: what stood for the arguments while tracing

    @classmethod
    def find(cls, traced: fx.GraphModule) -> Aliases:
        placeholders = [node.meta.get("val") for node in traced.graph.find_nodes(op="placeholder")]
        inputs: dict[StorageWeakRef, tuple[int, torch.Tensor]] = {}
        for index, value in enumerate(placeholders):
            if _has_storage(value):
                inputs.setdefault(StorageWeakRef(value.untyped_storage()), (index, value))
        (output,) = traced.graph.find_nodes(op="output")
        views = {}
        for index, node in enumerate(output.args[0]):
            value = node.meta.get("val") if isinstance(node, fx.Node) else None
            if not _has_storage(value):
                continue
            found = inputs.get(StorageWeakRef(value.untyped_storage()))
            if found is not None and value.dtype == found[1].dtype:
                offset = value.storage_offset() - found[1].storage_offset()
                views[index] = _View(found[0], tuple(value.stride()), offset)
        return cls(views, placeholders)

    def restore(self, results: list[Any], arguments: Sequence[Any]) -> list[Any]:
        symbols = self._symbols(arguments) if self.views else {}
        for index, view in self.views.items():
            results[index] = view.of(results[index], arguments[view.placeholder], symbols)
        return results

    def _symbols(self, arguments: Sequence[Any]) -> dict[sympy.Symbol, int]:
        symbols: dict[sympy.Symbol, int] = {}
        for traced, given in zip(self.placeholders, arguments, strict=True):
            if isinstance(traced, torch.Tensor):
                for size, given_size in zip(traced.shape, given.shape, strict=True):
                    _bind(size, given_size, symbols)
            else:
                _bind(traced, given, symbols)
        return symbols


def _has_storage(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
