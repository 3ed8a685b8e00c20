"""The backend that torch.compile(model, backend="unfuse") finds through the entry point."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch.utils import _pytree as pytree

from . import origin
from .aliases import Aliases
from .autocast import cast_encoder_layers
from .capture import trace_to_aten
from .compiled_graph import compile_graph, refuse_what_is_left
from .errors import EagerFallbackWarning, Error
from .fx_import import GraphInput
from .options import Options
from .padded_rows import PaddedEncoders
from .report import LeftOp, Report
from .shared_results import SharedResults
from .written_windows import windows_to_leave

logger = logging.getLogger("unfuse")

_NOT_THE_USERS = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)


def unfuse(
    module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compiles one dynamo graph. `options` are those of `unfuse.options.Options`."""
    if mode is not None:
        raise Error(f"the backend has no modes, got mode={mode!r}", hint="it takes options={...}")
    return compile_module(module, example_inputs, Options.parse(options), Report())


def compile_module(
    module: fx.GraphModule, example_inputs: Sequence[Any], options: Options, report: Report
) -> Callable[..., Any]:
    """The same, adding what became of the graph to the report."""
    graph_report = Report(graphs=1)
    if _wants_gradient(module):
        compiled = _eager(module, graph_report)
    elif windows := windows_to_leave(module, example_inputs):
        compiled = _in_torch(module, windows, options, graph_report)
    elif options.use_aot:
        compiled = _through_aot(module, example_inputs, options, graph_report)
    else:
        compiled = _directly(module, example_inputs, options, graph_report)
    report.add(graph_report)
    if options.verbose:
        _log(graph_report)
    return compiled


def _wants_gradient(module: fx.GraphModule) -> bool:
    """Asked before AOTAutograd, which would trace a joint graph."""
    if not torch.is_grad_enabled():
        return False
    (output,) = module.graph.find_nodes(op="output")
    results = (node.meta.get("example_value") for node in output.all_input_nodes)
    return any(
        isinstance(leaf, torch.Tensor) and leaf.requires_grad
        for leaf in pytree.tree_leaves(list(results))
    )


def _eager(module: fx.GraphModule, report: Report) -> Callable[..., Any]:
    text = (
        "a gradient may be asked for, so this model runs in eager PyTorch: unfuse compiles "
        "inference only; call it under torch.no_grad() or torch.inference_mode()"
    )
    report.note(text)
    warnings.warn(text, EagerFallbackWarning, stacklevel=_user_level())
    return module.forward


def _in_torch(
    module: fx.GraphModule, left: list[LeftOp], options: Options, report: Report
) -> Callable[..., Any]:
    """The whole graph, for the sake of these ops."""
    report.left_to_torch += left
    refuse_what_is_left(report, options)
    return module.forward


def _user_level() -> int:
    """The stack level, seen from the caller, of the call into compiled code."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_THE_USERS):
        level, frame = level + 1, frame.f_back
    return level


def _graph_inputs(module: fx.GraphModule, example_inputs: Sequence[Any]) -> list[GraphInput]:
    inputs: list[GraphInput] = []
    targets: set[str] = set()
    placeholders = module.graph.find_nodes(op="placeholder")
    for node, example in zip(placeholders, example_inputs, strict=True):
        target = origin.input_name(node)
        if target in targets:
            target = node.name
        targets.add(target)
        inputs.append(GraphInput(_input_kind(node, example), target))
    return inputs


def _input_kind(node: fx.Node, example: Any) -> str:
    if isinstance(example, torch.nn.Parameter):
        return "parameter"
    static = node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")
    return "buffer" if static else "user"


def _through_aot(
    module: fx.GraphModule, example_inputs: Sequence[Any], options: Options, report: Report
) -> Callable[..., Any]:
    inputs = _graph_inputs(module, example_inputs)
    cast_encoder_layers(module)
    encoders = PaddedEncoders.find(module)

    def inference(aten: fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        shared = SharedResults.take(aten)
        aliases = Aliases.find(aten)
        encoders.apply(aten, options, report)
        compiled = compile_graph(aten, _aot_inputs(aten, inputs), options, report)

        def boxed(arguments: list[Any]) -> list[Any]:
            results = aliases.restore(compiled(arguments), arguments)
            results = shared.restore(results, arguments)
            arguments.clear()
            return results

        boxed._boxed_call = True  # type: ignore[attr-defined]
        return boxed

    def training(aten: fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        return _boxed_eager(aten, report)

    compile_with_aot = aot_autograd(
        fw_compiler=training,
        bw_compiler=lambda aten, _: _boxed_eager(aten, report),
        inference_compiler=inference,
        keep_inference_input_mutations=False,
    )
    return compile_with_aot(module, example_inputs)


def _boxed_eager(aten: fx.GraphModule, report: Report) -> Callable[..., Any]:
    forward = _eager(aten, report)

    def boxed(arguments: list[Any]) -> Any:
        results = forward(*arguments)
        arguments.clear()
        return results

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def _aot_inputs(aten: fx.GraphModule, inputs: Sequence[GraphInput]) -> list[GraphInput]:
    """AOTAutograd may leave inputs out or merge them: what each placeholder was says `desc`. An
    input that the graph writes changes at every call, and is no parameter to pack."""
    (output,) = aten.graph.find_nodes(op="output")
    written = {
        mutated.idx
        for description in output.meta.get("desc") or []
        if hasattr(mutated := getattr(description, "mutated_input", None), "idx")
    }
    result = []
    for node in aten.graph.find_nodes(op="placeholder"):
        index = getattr(node.meta.get("desc"), "idx", None)
        described = GraphInput("user", node.name) if index is None else inputs[index]
        if index in written:
            described = GraphInput("user", described.target)
        result.append(described)
    return result


def _directly(
    module: fx.GraphModule, example_inputs: Sequence[Any], options: Options, report: Report
) -> Callable[..., Any]:
    inputs = _graph_inputs(module, example_inputs)
    cast_encoder_layers(module)
    encoders = PaddedEncoders.find(module)
    traced, fakes = trace_to_aten(module, example_inputs)
    for described, fake in zip(inputs, fakes, strict=True):
        if isinstance(fake, torch.Tensor) and fake._version > 0:
            described.kind = "user"
    shared = SharedResults.take(traced)
    aliases = Aliases.find(traced)
    encoders.apply(traced, options, report)
    try:
        compiled = compile_graph(traced, inputs, options, report)
    except Error as error:
        if not _aot_would_do(error):
            raise
        report.note(
            "a graph is captured through AOTAutograd in spite of use_aot=False: "
            + (f"{error.where}: {error.message}" if error.where else error.message)
        )
        return _through_aot(module, example_inputs, options, report)

    def call(*arguments: Any) -> list[Any]:
        results = aliases.restore(compiled(arguments), arguments)
        return shared.restore(results, arguments)

    return call


def _aot_would_do(error: Error) -> bool:
    """The graph writes in a way that our own pass cannot make functional, and torch can."""
    return error.kind == "unsupported" and "use_aot=True" in error.hint


def _log(report: Report) -> None:
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stderr))
    logger.setLevel(logging.INFO)
    logger.info("%s", report)
