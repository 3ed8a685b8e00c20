"""What a caller gives as an exported program."""

from __future__ import annotations

import copy
import sys
from typing import Any

from .errors import Error


def check_is_exported_program(program: Any, *alternatives: str) -> None:
    """Raises Error for anything but a torch.export.ExportedProgram. `alternatives` are what the
    caller takes instead. PyTorch is not imported for it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(program, torch.export.ExportedProgram):
        return
    wanted = " or ".join(("an ExportedProgram", *alternatives))
    raise Error(
        f"expected {wanted}, not {type(program).__name__}",
        hint="torch.export.export(model, args) gives one, torch.export.load reads one",
    )


def as_torch_can_save_it(program: Any) -> Any:
    """The same ExportedProgram, but for classes around arguments or results that torch cannot name
    in a file: tensors come one after another in their place."""
    from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
    from torch.utils import _pytree as pytree

    signature, call = program.graph_signature, program.module_call_graph[0].signature
    in_spec, out_spec, names = call.in_spec, call.out_spec, call.forward_arg_names
    if not _has_a_name(in_spec):
        names = [spec.arg.name for spec in _of_the_user(signature.input_specs)]
        in_spec = pytree.tree_structure((tuple(names), {}))
    if not _has_a_name(out_spec):
        out_spec = pytree.tree_structure(tuple(_of_the_user(signature.output_specs)))
    root = ModuleCallSignature([], [], in_spec, out_spec, names)
    # A copy of the object, not of the graph: that would rename what torch cannot name twice.
    saveable = copy.copy(program)
    saveable._module_call_graph = [ModuleCallEntry("", root)]
    saveable._example_inputs = None
    return saveable


def _has_a_name(spec: Any) -> bool:
    from torch.utils import _pytree as pytree

    try:
        pytree.treespec_dumps(spec)
    except NotImplementedError:
        return False
    return True


def _of_the_user(specs: Any) -> list[Any]:
    return [spec for spec in specs if spec.kind.name in ("USER_INPUT", "USER_OUTPUT")]
