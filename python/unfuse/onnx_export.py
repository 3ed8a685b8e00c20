"""Exported programs as ONNX models."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

from unfuse import _unfuse

from .errors import Error
from .exported import as_torch_can_save_it, check_is_exported_program
from .options import check_choice
from .program import file_name
from .report import Report


def export_onnx(
    program: Any,
    path: str | os.PathLike[str],
    *,
    opset: int | str = _unfuse.default_opset,
    fully_masked_rows: str = "op",
    model: str = "",
) -> Report:
    """Writes an exported program, its fused ops opened, as an ONNX model, and reports what was
    opened.

    `program` is a torch.export.ExportedProgram, or the path of a .pt2 archive; `model` is the one
    to take from an archive of several. `opset` is a number, or "newest". Weights of a model beyond
    2 GB go to a file beside it, named `path` with .data behind it. An existing file is replaced
    once the new one is complete. Raises Error that lists every op without an ONNX form.
    """
    check_choice("fully_masked_rows", fully_masked_rows, ("op", "zero"))
    opset = _opset(opset)
    output = file_name(path)
    if isinstance(program, (str, os.PathLike)):
        return _export(file_name(program), model, output, opset, fully_masked_rows)
    check_is_exported_program(program, "the path of a .pt2")
    import torch

    if model:
        raise Error("model names one of an archive's models; an ExportedProgram is one itself")
    # Where the result has room, what it is made from has.
    beside = os.path.dirname(os.path.abspath(os.fsdecode(output)))
    if not os.path.isdir(beside):
        raise Error(f"there is no folder {beside}", where=os.fsdecode(output))
    with tempfile.TemporaryDirectory(dir=beside, prefix=".unfuse-") as folder:
        saved = pathlib.Path(folder) / "model.pt2"
        torch.export.save(as_torch_can_save_it(program), saved)
        return _export(file_name(saved), "", output, opset, fully_masked_rows)


def _export(path: bytes, model: str, output: bytes, opset: int, fully_masked_rows: str) -> Report:
    native = _unfuse.export_onnx(path, model, output, opset, fully_masked_rows)
    return Report(1, partitions=None, opened=dict(native.opened), notes=list(native.notes))


def _opset(opset: Any) -> int:
    oldest, newest = _unfuse.oldest_opset, _unfuse.newest_opset
    if opset == "newest":
        return newest
    if isinstance(opset, int) and not isinstance(opset, bool) and oldest <= opset <= newest:
        return opset
    raise Error(f"opset cannot be {opset!r}", hint=f"it is from {oldest} to {newest}, or 'newest'")
