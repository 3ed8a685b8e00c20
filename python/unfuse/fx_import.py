"""FX graphs of ATen ops become our graph, node by node.

What the graph cannot say (a higher-order op, a complex number, a size that depends on elements)
becomes an opaque node that stands for a Python call, kept beside the graph under the node's import
index. Such a node is never taken by a target, so Python runs it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from unfuse._unfuse import Dim, Graph, NodeDescription, Value, knows_op

from . import fx_arguments, origin, symbolic
from .fx_arguments import NotExpressible

_CALL = "call "


@dataclass
class GraphInput:
    """What the caller knows of a placeholder."""

    kind: str  #: "user", "parameter" or "buffer"
    target: str  #: its name in the user's program


@dataclass
class PythonCall:
    """An opaque node's meaning: a function, and its arguments with holes for operands."""

    name: str  #: the opaque node's op
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    operands: list[fx.Node]
    constants: dict[fx.Node, Any]
    reason: str

    @property
    def op(self) -> str:
        """What the user knows it by."""
        return self.name.removeprefix(_CALL)

    def __call__(self, *operands: Any) -> Any:
        values = {**self.constants, **dict(zip(self.operands, operands))}
        args, kwargs = map_arg((self.args, self.kwargs), values.__getitem__)
        return self.function(*args, **kwargs)


@dataclass
class ImportedGraph:
    graph: Graph
    #: Placeholder index of each input of `graph`, by its name.
    placeholders: dict[str, int] = field(default_factory=dict)
    #: Tensors that the traced module holds itself, by the name of their input.
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    #: By import index.
    calls: dict[int, PythonCall] = field(default_factory=dict)
    #: The FX nodes that became nodes of their own op, by import index.
    nodes: dict[int, fx.Node] = field(default_factory=dict)


class _Constant:
    """A module's attribute that is no tensor: the body of a higher-order op."""

    def __init__(self, value: Any) -> None:
        self.value = value


def import_graph(module: fx.GraphModule, inputs: Sequence[GraphInput]) -> ImportedGraph:
    """`inputs` has one entry a placeholder. Every node carries its fake value in meta["val"]."""
    return _Importer(module, inputs).run()


class _Importer:
    def __init__(self, module: fx.GraphModule, inputs: Sequence[GraphInput]) -> None:
        self.module = module
        self.inputs = inputs
        self.imported = ImportedGraph(Graph())
        self.graph = self.imported.graph
        self.environment: dict[fx.Node, Any] = {}
        self.symbols: set[str] = set()
        self.import_index = -1
        self.placeholder_count = 0

    def run(self) -> ImportedGraph:
        for index, node in enumerate(self.module.graph.nodes):
            self.import_index = index
            self._note_symbols(node)
            getattr(self, f"_{node.op}")(node)
        return self.imported

    def _note_symbols(self, node: fx.Node) -> None:
        """Declares the symbols of this node's value, with what torch knows of their range."""
        for leaf in pytree.tree_leaves(node.meta.get("val")):
            sizes = [leaf] if isinstance(leaf, torch.SymInt) else []
            if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided:
                sizes = [*leaf.shape, *leaf.stride(), leaf.storage_offset()]
            for size in sizes:
                if isinstance(size, torch.SymInt):
                    self._declare(size)

    def _declare(self, size: torch.SymInt) -> None:
        for symbol in size.node.expr.free_symbols:
            if symbol.name in self.symbols:
                continue
            self.symbols.add(symbol.name)
            minimum, maximum = symbolic.symbol_range(size.node.shape_env, symbol)
            self.graph.add_symbol(symbol.name, minimum, maximum)

    def _placeholder(self, node: fx.Node) -> None:
        described = self.inputs[index := self.placeholder_count]
        self.placeholder_count += 1
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            dim = symbolic.to_dim(value)
            self.environment[node] = dim
            if dim.constant is not None:
                return
        elif not isinstance(value, torch.Tensor):
            self.environment[node] = symbolic.to_number(value)
            return
        handle = self.graph.add_input(
            node.name, fx_arguments.value_type(value), described.kind, described.target
        )
        self.imported.placeholders[handle.name] = index
        if isinstance(value, torch.Tensor):
            self.environment[node] = handle

    def _get_attr(self, node: fx.Node) -> None:
        value = operator.attrgetter(node.target)(self.module)
        if not isinstance(value, torch.Tensor):
            self.environment[node] = _Constant(value)
            return
        # AOTAutograd compiles under its fake mode, which refuses to touch a real constant.
        with unset_fake_temporarily():
            tensor = value.detach()
        handle = self.graph.add_input(
            node.name,
            fx_arguments.value_type(tensor),
            "constant",
            str(node.target),
            fx_arguments.describe_tensor(tensor),
        )
        self.imported.constants[handle.name] = tensor
        self.environment[node] = handle

    def _call_function(self, node: fx.Node) -> None:
        if node.target is operator.getitem and isinstance(self.environment.get(node.args[0]), list):
            self.environment[node] = self.environment[node.args[0]][node.args[1]]
            return
        value = node.meta.get("val")
        if symbolic.is_data_dependent(self._seen_values(node)):
            self._python_call(node, "its sizes depend on elements of a tensor")
        elif _is_number(value):
            self.environment[node] = fx_arguments.to_argument(value)
        elif isinstance(node.target, torch._ops.OpOverload):
            self._op(node)
        else:
            self._python_call(node, "it is no ATen op")

    _call_module = _call_method = _call_function

    def _seen_values(self, node: fx.Node) -> list[Any]:
        values = [operand.meta.get("val") for operand in node.all_input_nodes]
        leaves = pytree.tree_leaves([*values, node.meta.get("val")])
        numbers = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
        return [leaf for leaf in leaves if isinstance(leaf, numbers)]

    def _op(self, node: fx.Node) -> None:
        try:
            args, kwargs = self._arguments(node)
        except NotExpressible:
            self._python_call(node, "an argument is of a kind that is not supported")
            return
        name = str(node.target)
        schema = None if knows_op(name) else str(node.target._schema)
        self.imported.nodes[self.import_index] = node
        self._add_node(node, name, schema, args, kwargs)

    def _arguments(self, node: fx.Node) -> tuple[list[Any], dict[str, Any]]:
        args = [self._argument(argument) for argument in node.args]
        return args, {name: self._argument(value) for name, value in node.kwargs.items()}

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, fx.Node):
            value = self.environment[argument]
            if isinstance(value, _Constant):
                raise NotExpressible
            return value
        if isinstance(argument, list | tuple):
            return [self._argument(element) for element in argument]
        return fx_arguments.to_argument(argument)

    def _python_call(self, node: fx.Node, reason: str) -> None:
        constants = {}
        operands: dict[fx.Node, Any] = {}
        for operand in node.all_input_nodes:
            value = self.environment[operand]
            if isinstance(value, _Constant):
                constants[operand] = value.value
            elif isinstance(value, Value | Dim):
                operands[operand] = value
            elif isinstance(value, list):
                raise AssertionError("a tuple reaches a call only through getitem")
            else:
                constants[operand] = value
        # No op's own name: the arguments are not that op's, and passes go by names.
        name = _CALL + (str(node.target) if hasattr(node.target, "namespace") else node.name)
        self.imported.calls[self.import_index] = PythonCall(
            name, node.target, node.args, node.kwargs, list(operands), constants, reason
        )
        parameters = ", ".join(f"any operand{i}" for i in range(len(operands)))
        results = ", ".join(["any"] * len(pytree.tree_leaves(node.meta.get("val"))))
        self._add_node(node, name, f"({parameters}) -> ({results})", list(operands.values()), {})

    def _add_node(
        self,
        node: fx.Node,
        name: str,
        schema: str | None,
        args: list[Any],
        kwargs: dict[str, Any],
    ) -> None:
        value = node.meta.get("val")
        leaves, structure = pytree.tree_flatten(value)
        if value is None:
            leaves = []
        description = NodeDescription(
            name,
            schema,
            node.name,
            origin.module_path(node),
            origin.source_line(node),
            self.import_index,
        )
        types = [fx_arguments.value_type(leaf) for leaf in leaves]
        results = self.graph.add_node(description, args, kwargs, types)
        if value is None:
            return
        rebuilt = pytree.tree_unflatten(
            [None if leaf is None else result for leaf, result in zip(leaves, results)], structure
        )
        self.environment[node] = list(rebuilt) if isinstance(rebuilt, tuple) else rebuilt

    def _output(self, node: fx.Node) -> None:
        for result in pytree.tree_leaves(node.args[0]):
            self.graph.add_output(self._argument(result))


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | torch.SymInt | torch.SymFloat | torch.SymBool)
