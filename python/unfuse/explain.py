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

    def backend(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        return compile_module(module, example_inputs, parsed, report)

    # Isolated, so that what is compiled here does not count against the user's own recompile limit.
    breaks_before = _graph_breaks()
    with torch.no_grad():
        torch.compile(model, backend=backend, isolate_recompiles=True)(*args, **kwargs)
    for reason, count in (_graph_breaks() - breaks_before).items():
        report.graph_breaks += count
        report.note(f"graph break: {reason.splitlines()[0]}")
    return report


def _graph_breaks() -> Counter[str]:
    return Counter(torch._dynamo.utils.counters["graph_break"])
