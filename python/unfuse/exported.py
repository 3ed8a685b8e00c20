"""What a caller gives as an exported program."""

from __future__ import annotations

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
