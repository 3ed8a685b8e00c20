"""What becomes of a model: compiles it once, and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from .backend import compile_module
from .errors import Error
from .options import Options
from .report import Report


def explain(
    model: Callable[..., Any],
    *args: Any,
    options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Report:
    """Compiles the model for these arguments as torch.compile(model, backend="unfuse",
    options=options) would, runs it once without gradients, and says what became of it."""
    if not callable(model) or isinstance(model, type):
        named = f"the class {model.__name__}" if callable(model) else type(model).__name__
        raise Error(
            f"expected a model, not {named}",
            hint="pass an nn.Module or a function of tensors",
        )
    parsed = Options.parse(options)
    report = Report()

    in_graphs: set[int] = set()

    def backend(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        in_graphs.update(id(example) for example in example_inputs)
        return compile_module(module, example_inputs, parsed, report)

    # Isolated, so that what is compiled here does not count against the user's own recompile limit.
    breaks_before = _graph_breaks()
    with torch.no_grad():
        torch.compile(model, backend=backend, isolate_recompiles=True)(*args, **kwargs)
    for reason, count in (_graph_breaks() - breaks_before).items():
        report.graph_breaks += count
        report.note(f"graph break: {reason.splitlines()[0]}")
    if isinstance(model, torch.nn.Module) and (report.graph_breaks or report.graphs == 0):
        for name, module in _outside(model, in_graphs):
            report.note(_outside_note(name, module))
    return report


def _outside(
    model: torch.nn.Module, in_graphs: set[int], name: str = ""
) -> list[tuple[str, torch.nn.Module]]:
    """The outermost modules that have parameters, none of which is in a graph."""
    parameters = [id(parameter) for parameter in model.parameters()]
    if not parameters:
        return []
    if in_graphs.isdisjoint(parameters):
        return [(name, model)]
    return [
        found
        for child, module in model.named_children()
        for found in _outside(module, in_graphs, f"{name}.{child}" if name else child)
    ]


def _outside_note(name: str, module: torch.nn.Module) -> str:
    kind = type(module).__name__
    text = (
        f"no graph holds {f'{name} ({kind})' if name else kind}: eager PyTorch runs it, if it runs"
    )
    if isinstance(module, torch.nn.TransformerEncoder | torch.nn.TransformerDecoder):
        text += "; given a mask without is_causal it looks at the mask's elements: pass is_causal"
    return text


def _graph_breaks() -> Counter[str]:
    return Counter(torch._dynamo.utils.counters["graph_break"])
