"""Decompositions for torch's own machinery: `ExportedProgram.run_decompositions`, AOTAutograd.

What an op is opened into is written in C++ alone: an entry of the table builds a graph of one node,
has it opened, and calls torch for every node of what comes out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch

from unfuse import _unfuse
from unfuse._unfuse import Dim, Graph, NodeDescription, Slot, Type

from . import fx_arguments
from .left_to_torch import torch_op

_Table = dict[torch._ops.OpOverload, Callable[..., Any]]


def decomposition_table(to: str = "sdpa", *, sdpa_semantics: bool = False) -> _Table:
    """Entries for the fused ops that torch has no decomposition of. `to` and `sdpa_semantics` are
    those of unfuse.decompose."""
    if to not in ("sdpa", "core"):
        raise ValueError(f"to is {to!r}, neither 'sdpa' nor 'core'")
    return {op: _entry(op, to, sdpa_semantics) for op in _RESULT_SIZES}


def _entry(op: torch._ops.OpOverload, to: str, sdpa_semantics: bool) -> Callable[..., Any]:
    def opened(*args: Any, **kwargs: Any) -> Any:
        results = _Call(op, args, kwargs).run(to, sdpa_semantics)
        return results[0] if len(results) == 1 else tuple(results)

    opened.__name__ = f"opened{op._schema.name.partition('::')[2]}"
    return opened


def _encoder_layer_sizes(arguments: dict[str, Any]) -> list[list[Any] | None]:
    return [list(arguments["src"].shape)]


def _attention_sizes(arguments: dict[str, Any]) -> list[list[Any] | None]:
    batch, length, _ = arguments["query"].shape
    output = [batch, length, arguments["proj_weight"].shape[0]]
    if not arguments["need_weights"]:
        return [output, None]
    heads = [] if arguments["average_attn_weights"] else [arguments["num_head"]]
    return [output, [batch, *heads, length, length]]


#: The sizes of each result, None for one that is None; all have the dtype of the first argument.
_RESULT_SIZES = {
    torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer_sizes,
    torch.ops.aten._native_multi_head_attention.default: _attention_sizes,
}


class _Call:
    """A call of an op as a graph of one node. Sizes that are symbolic get symbols of ours."""

    def __init__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._graph = Graph()
        self._symbols: dict[str, Any] = {}  # ours -> torch's
        self._names: dict[Any, str] = {}  # torch's expression -> ours
        self._tensors: list[torch.Tensor] = []
        self._handles: list[Any] = []  # of the tensors in the graph
        declared = op._schema.arguments
        arguments = {argument.name: argument.default_value for argument in declared}
        arguments.update({argument.name: value for argument, value in zip(declared, args)})
        arguments.update(kwargs)
        values = {name: self._argument(value) for name, value in arguments.items()}
        first = next(value for value in arguments.values() if isinstance(value, torch.Tensor))
        types = [
            Type.none() if sizes is None else self._type(first, sizes)
            for sizes in _RESULT_SIZES[op](arguments)
        ]
        for value in self._graph.add_node(NodeDescription(str(op)), [], values, types):
            self._graph.add_output(value)

    def _dim(self, size: Any) -> Dim:
        if isinstance(size, int):
            return Dim(size)
        expression = size.node.expr
        if expression not in self._names:
            name = f"d{len(self._names)}"
            self._names[expression] = name
            self._symbols[name] = size
            self._graph.add_symbol(name, 0, 2**63 - 1)
        return Dim.symbol(self._names[expression])

    def _type(self, tensor: torch.Tensor, sizes: Iterable[Any], strides: Any = None) -> Type:
        dims = [self._dim(size) for size in sizes]
        if strides is None:
            steps, step = [], Dim(1)
            for dim in reversed(dims):
                steps.insert(0, step)
                step = step * dim
        else:
            steps = [self._dim(stride) for stride in strides]
        dtype = fx_arguments.dtype_name(tensor.dtype)
        return Type.tensor(dtype, dims, steps, Dim(0), str(tensor.device))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            # Self-attention passes one tensor thrice, and is opened into one projection.
            for handle, tensor in zip(self._handles, self._tensors):
                if tensor is value:
                    return handle
            name = f"input_{len(self._tensors)}"
            self._tensors.append(value)
            type_ = self._type(value, value.shape, value.stride())
            self._handles.append(self._graph.add_input(name, type_, "user", name))
            return self._handles[-1]
        if isinstance(value, torch.SymInt):
            return self._dim(value)
        return fx_arguments.to_argument(value)

    def run(self, to: str, sdpa_semantics: bool) -> list[Any]:
        opened = _unfuse.open_fused(self._graph, to, sdpa_semantics)
        slots: list[Any] = [*self._tensors, *[None] * (opened.slot_count - len(self._tensors))]
        for piece in opened.pieces:
            arguments = [
                (name, by_name, self._value(value, slots))
                for name, by_name, value in piece.arguments
            ]
            results = torch_op(piece.op, piece.where)(
                *[value for _, by_name, value in arguments if not by_name],
                **{name: value for name, by_name, value in arguments if by_name},
            )
            results = results if isinstance(results, tuple | list) else (results,)
            for slot, result in zip(piece.output_slots, results, strict=True):
                slots[slot] = result
        return [None if slot < 0 else slots[slot] for _, _, slot, _ in opened.outputs]

    def _value(self, value: Any, slots: list[Any]) -> Any:
        if isinstance(value, Slot):
            return slots[value.index]
        if isinstance(value, Dim):
            return _evaluate(value, self._symbols)
        if isinstance(value, list):
            return [self._value(element, slots) for element in value]
        return fx_arguments.from_argument(value)


_FUNCTIONS = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "min": torch.sym_min,
    "max": torch.sym_max,
}


def _evaluate(dim: Dim, symbols: dict[str, Any]) -> Any:
    """A size in torch's terms."""
    if dim.constant is not None:
        return dim.constant
    total: Any = dim.constant_term
    for coefficient, factors in dim.terms:
        product: Any = coefficient
        for name, operands in factors:
            if not operands:
                product = symbols[name] * product
                continue
            values = [_evaluate(operand, symbols) for operand in operands]
            product = _FUNCTIONS[name](*values) * product
        total = product + total
    return total
