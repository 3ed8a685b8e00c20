"""A compiled graph: steps that run one after another over slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from unfuse import _unfuse

from . import arrays
from .errors import Error
from .fused_sizes import guard_fused_sizes
from .fx_import import GraphInput, ImportedGraph, import_graph
from .left_to_torch import TorchStep, traced_arguments
from .options import Options
from .report import LeftOp, Report
from .target_step import TargetStep

Step = Callable[[list[Any], dict[str, int], int], None]


def compile_graph(
    module: fx.GraphModule, inputs: Sequence[GraphInput], options: Options, report: Report
) -> CompiledGraph:
    """Compiles an FX graph of ATen ops. `inputs` has one entry a placeholder. What became of it
    is added to the report. Throws Error when it is strict and something is left to torch."""
    guard_fused_sizes(module)
    imported = import_graph(module, inputs)
    compiled = _unfuse.compile(imported.graph, options.fully_masked_rows, options.arithmetic)
    result = _graph_report(compiled.report, imported)
    report.add(result)
    refuse_what_is_left(result, options)
    return CompiledGraph(compiled, imported)


def refuse_what_is_left(report: Report, options: Options) -> None:
    """Throws Error, listing what the report says is left to torch, when the options are strict."""
    if options.strict and report.left_to_torch:
        raise Error(
            "these ops are left to torch: " + "; ".join(map(_describe, report.left_to_torch)),
            "unsupported",
            hint="without the option strict, torch runs them",
        )


def _graph_report(native: Any, imported: ImportedGraph) -> Report:
    calls = {call.name: call for call in imported.calls.values()}
    left = []
    for entry in native.left_to_torch:
        op = LeftOp(entry.op, entry.count, entry.reason, entry.module_path, entry.source)
        if (call := calls.get(entry.op)) is not None:
            op.op, op.reason = call.op, call.reason
        left.append(op)
    return Report(0, 0, native.partitions, dict(native.opened), left, list(native.notes))


def _describe(left: LeftOp) -> str:
    places = ", ".join(place for place in (left.module_path, left.source) if place)
    return f"{left.count} x {left.op}{f' ({places})' if places else ''}: {left.reason}"


class CompiledGraph:
    """Called with the values of the graph's placeholders, in order."""

    def __init__(self, compiled: Any, imported: ImportedGraph) -> None:
        self._text = str(compiled)
        self._slot_count: int = compiled.slot_count
        #: (slot, placeholder) of every input that the caller gives.
        self._inputs: list[tuple[int, int]] = []
        #: (symbol, placeholder)
        self._symbols: list[tuple[str, int]] = []
        #: Constants of the traced module and of the passes, by slot.
        self._constants: list[tuple[int, Any]] = []
        self._read_inputs(compiled.inputs, imported)
        #: Whether the first slots are the first placeholders, in order, as they mostly are.
        self._in_order = self._inputs == [(i, i) for i in range(len(self._inputs))]
        self._empty = [None] * (self._slot_count - len(self._inputs))
        self._steps: list[Step] = [_step(piece, imported) for piece in compiled.pieces]
        self._outputs = [output for output in compiled.outputs if output[0] == "user"]
        targets = {target: index for index, target in enumerate(t for _, t, *_ in compiled.inputs)}
        #: (slot of the input, slot of what it becomes)
        self._mutations = [
            (targets[target], slot)
            for kind, target, slot, _ in compiled.outputs
            if kind == "mutation"
        ]
        self._dead = self._last_uses(compiled.pieces)

    def _read_inputs(self, inputs: list[Any], imported: ImportedGraph) -> None:
        for slot, (name, _, dim, data) in enumerate(inputs):
            placeholder = imported.placeholders.get(name)
            if placeholder is None:
                if name in imported.constants:
                    self._constants.append((slot, imported.constants[name]))
                elif data is not None:
                    self._constants.append((slot, arrays.result(data, as_torch=True)))
                continue
            self._inputs.append((slot, placeholder))
            if dim is not None and str(dim) in dim.symbols():
                self._symbols.append((str(dim), placeholder))

    def _last_uses(self, pieces: list[Any]) -> list[list[int]]:
        """The slots that nobody reads after each step."""
        kept = {slot for _, _, slot, _ in self._outputs} | {s for m in self._mutations for s in m}
        last: dict[int, int] = {}
        for step, piece in enumerate(pieces):
            for slot in (*piece.input_slots, *piece.output_slots):
                last[slot] = step
        dead: list[list[int]] = [[] for _ in pieces]
        for slot, step in last.items():
            # After the last step all go at once.
            if slot not in kept and step + 1 < len(pieces):
                dead[step].append(slot)
        return dead

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        slots: list[Any]
        if self._in_order:
            slots = [*arguments[: len(self._inputs)], *self._empty]
        else:
            slots = [None] * self._slot_count
            for slot, placeholder in self._inputs:
                slots[slot] = arguments[placeholder]
        for slot, constant in self._constants:
            slots[slot] = constant
        symbols = {symbol: arguments[placeholder] for symbol, placeholder in self._symbols}
        threads = torch.get_num_threads()
        for step, dead in zip(self._steps, self._dead):
            step(slots, symbols, threads)
            for slot in dead:
                slots[slot] = None
        for target, slot in self._mutations:
            slots[target].copy_(slots[slot])
        return [
            slots[slot] if slot >= 0 else self._constant(constant, symbols)
            for _, _, slot, constant in self._outputs
        ]

    @staticmethod
    def _constant(constant: Any, symbols: dict[str, int]) -> Any:
        return constant.evaluate(symbols) if isinstance(constant, _unfuse.Dim) else constant

    def __str__(self) -> str:
        return self._text


def _step(piece: Any, imported: ImportedGraph) -> Step:
    if piece.on_target:
        return TargetStep(piece)
    call = imported.calls.get(piece.import_index)
    if call is not None:
        traced = [operand.meta.get("val") for operand in call.operands]
        return TorchStep(piece, call, {f"operand{i}": value for i, value in enumerate(traced)})
    node = imported.nodes.get(piece.import_index)
    return TorchStep(piece, None, {} if node is None else traced_arguments(node))
