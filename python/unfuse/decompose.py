"""Exported programs with their fused ops opened, as exported programs."""

from __future__ import annotations

import logging
import pathlib
import tempfile
import warnings
from collections.abc import Iterable
from typing import Any

import torch
from torch.export import ExportedProgram

from unfuse import _unfuse

from .exported import as_torch_can_save_it, check_is_exported_program
from .options import check_choice

_log = logging.getLogger("unfuse")


def decompose(
    program: ExportedProgram,
    *,
    to: str = "sdpa",
    only: Iterable[str] = (),
    sdpa_semantics: bool = False,
    strict: bool = False,
) -> ExportedProgram:
    """The program with its fused ops opened; its weights are the same tensors.

    `to` is what attention becomes: "sdpa", one scaled_dot_product_attention, or "core", products
    and a softmax, as everything goes down to core ATen. `only` names the ops to open, or all.
    `sdpa_semantics` gives attention the meaning of scaled_dot_product_attention where the op means
    something else. What is left is warned of; with `strict` it raises unfuse.Error. What was opened
    is logged (`logging.getLogger("unfuse")`).
    """
    check_is_exported_program(program)
    check_choice("to", to, ("sdpa", "core"))
    if isinstance(only, str):
        only = [only]
    # The graph travels through a file, the one form that Python and C++ both know whole.
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder, "before.pt2"), pathlib.Path(folder, "after.pt2")
        with warnings.catch_warnings():
            # That weights of one element are not all that they could be.
            warnings.filterwarnings("ignore", "No complete tensor found", UserWarning)
            torch.export.save(_without_weights(program), before)
        report = _unfuse.decompose_file(
            str(before), str(after), to, list(only), sdpa_semantics, strict
        )
        opened = torch.export.load(after)
    _tell(report)
    return ExportedProgram(
        root=opened.graph_module,
        graph=opened.graph,
        graph_signature=opened.graph_signature,
        state_dict=program.state_dict,
        range_constraints=opened.range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants={**opened.constants, **program.constants},
        verifiers=opened.verifiers,
    )


def _tell(report: Any) -> None:
    for op, count in report.opened.items():
        _log.info("opened %d %s", count, op)
    for note in report.notes:
        _log.info("%s", note)
    for left in report.left_to_torch:
        place = left.module_path or left.source
        place = f", first at {place}" if place else ""
        warnings.warn(
            f"unfuse.decompose left {left.count} {left.op}{place}: {left.reason}", stacklevel=3
        )


def _without_weights(program: ExportedProgram) -> ExportedProgram:
    """The same graph, with a single element for each weight."""
    hollow = as_torch_can_save_it(program)
    hollow._state_dict = {name: _hollow(weight) for name, weight in program.state_dict.items()}
    hollow._constants = {name: _hollow(value) for name, value in program.constants.items()}
    return hollow


def _hollow(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    hollow = torch.zeros(1, dtype=value.dtype).as_strided(value.shape, (0,) * value.dim())
    if isinstance(value, torch.nn.Parameter):
        return torch.nn.Parameter(hollow, requires_grad=value.requires_grad)
    return hollow
