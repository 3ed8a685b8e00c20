"""Nodes that no target takes: each becomes a call into torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg

from unfuse._unfuse import Dim, Slot, is_recording, record

from .errors import Error
from .fx_arguments import from_argument
from .traced_layout import TracedLayout

Symbols = dict[str, int]
Reader = Callable[[list[Any], Symbols], Any]


class TorchStep:
    """Calls torch with values from slots, and puts what it returns into slots. Tensors are handed
    over in the layout that was traced: what the op does, and how its results lie, may depend on
    it."""

    def __init__(
        self, piece: Any, python_call: Callable[..., Any] | None, traced: dict[str, Any]
    ) -> None:
        """`traced` has what was traced for an argument, by its name."""
        self._function = python_call or torch_op(piece.op, piece.where)
        self._where = piece.where
        self._op: str = piece.op
        self._module_path, self._source = piece.origin
        self._outputs: list[int] = piece.output_slots
        self._symbols = [
            (index, dim.symbols()[0])
            for index, dim in enumerate(piece.result_symbols)
            if dim is not None and len(dim.symbols()) == 1
        ]
        arguments = [
            (name, by_name, from_argument(value)) for name, by_name, value in piece.arguments
        ]
        self._positional = [
            _reader(value, traced.get(name)) for name, by_name, value in arguments if not by_name
        ]
        self._keywords = {
            name: _reader(value, traced.get(name)) for name, by_name, value in arguments if by_name
        }

    def __call__(self, slots: list[Any], symbols: Symbols, threads: int) -> None:
        arguments = [read(slots, symbols) for read in self._positional]
        keywords = {name: read(slots, symbols) for name, read in self._keywords.items()}
        if is_recording():
            results = self._recorded(arguments, keywords)
        else:
            results = self._function(*arguments, **keywords)
        flat = _flatten(results)
        for slot, result in zip(self._outputs, flat, strict=True):
            slots[slot] = result
        for index, symbol in self._symbols:
            symbols[symbol] = flat[index]

    def _recorded(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        begin = time.perf_counter_ns()
        results = self._function(*arguments, **keywords)
        record(
            f"{self._op}, in torch", self._module_path, self._source, begin, time.perf_counter_ns()
        )
        return results


def torch_op(name: str, where: str) -> Callable[..., Any]:
    """torch.ops.aten.add.Tensor of "aten.add.Tensor"."""
    namespace, _, rest = name.partition(".")
    packet, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), packet), overload)
    except AttributeError:
        raise Error(f"torch has no op {name}", "unsupported", where) from None


def _flatten(results: Any) -> list[Any]:
    if not isinstance(results, tuple | list):
        return [] if results is None else [results]
    return [
        leaf
        for result in results
        for leaf in (result if isinstance(result, tuple | list) else (result,))
    ]


def traced_arguments(node: fx.Node) -> dict[str, Any]:
    """What was traced for the arguments of an FX node that calls an op, by their names there."""
    names = [argument.name for argument in node.target._schema.arguments]  # type: ignore[union-attr]
    given = map_arg(
        {**dict(zip(names, node.args)), **node.kwargs}, lambda operand: operand.meta.get("val")
    )
    return dict(given)


def _reader(value: Any, traced: Any = None) -> Reader:
    """A function that gives the argument at a call."""
    if isinstance(value, Slot):
        return _slot_reader(value.index, TracedLayout.of(traced))
    if isinstance(value, Dim):
        return lambda slots, symbols: value.evaluate(symbols)
    if isinstance(value, list) and any(isinstance(v, Slot | Dim) for v in value):
        known = isinstance(traced, list | tuple) and len(traced) == len(value)
        readers = [
            _reader(element, like) for element, like in zip(value, traced if known else value)
        ]
        return lambda slots, symbols: [read(slots, symbols) for read in readers]
    return lambda slots, symbols: value


def _slot_reader(index: int, layout: TracedLayout | None) -> Reader:
    if layout is None:
        return lambda slots, symbols: slots[index]
    return lambda slots, symbols: layout.laid_out(slots[index], symbols)
