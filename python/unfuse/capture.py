"""From a dynamo graph to ATen without AOTAutograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import TracingContext, detect_fake_mode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta


def trace_to_aten(
    module: fx.GraphModule, example_inputs: Sequence[Any]
) -> tuple[fx.GraphModule, list[Any]]:
    """The ATen ops that the graph performs, mutations and all, with the nodes' origins; and the
    fake inputs it was traced with."""
    fake_mode = detect_fake_mode(example_inputs)
    if fake_mode is None:
        fake_mode = torch._subclasses.FakeTensorMode()
    fakes = [_fake(fake_mode, example) for example in example_inputs]

    def run(*arguments: Any) -> Any:
        # A loop over nodes, and not the module's generated code, so that each traced op inherits
        # the metadata of the node that performs it.
        return fx.Interpreter(module).run(*arguments)

    # Kernels in C++ refuse symbolic sizes; torch's Python ones stand in for them.
    with preserve_node_meta(), fake_mode, enable_python_dispatcher():
        traced = make_fx(run, decomposition_table={}, _allow_non_fake_inputs=True)(*fakes)
    return traced, fakes


def _fake(fake_mode: Any, example: Any) -> Any:
    """Dynamo's own symbols for the sizes, as AOTAutograd takes them. Dynamo's fake inputs cannot be
    used: the trace may have changed them."""
    if not isinstance(example, torch.Tensor):
        return example
    tracing = TracingContext.try_get()
    known = tracing.tensor_to_context.get(example) if tracing is not None else None
    if known is None:
        return fake_mode.from_tensor(example, static_shapes=True, trace=False)
    return fake_mode.from_tensor(
        example, symbolic_context=known, source=known.tensor_source, trace=False
    )
