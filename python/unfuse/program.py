"""Exported programs: load a .pt2, call it as the model was called. PyTorch is not needed here."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from unfuse import _unfuse

from . import arrays, pytree
from .errors import Error
from .report import LeftOp, Report


def load(
    path: str | os.PathLike[str], *, fully_masked_rows: str = "op", threads: int = 0
) -> Program:
    """Reads and compiles a .pt2 archive that torch.export.save wrote (torch 2.9 or newer).

    `fully_masked_rows` is what attention gives for a row whose keys are all masked: "op", what the
    op in the graph gives, or "zero". `threads` 0 takes torch's number of threads at each call when
    torch is loaded, else OMP_NUM_THREADS, else all cores.
    """
    if fully_masked_rows not in ("op", "zero"):
        raise Error(
            f"fully_masked_rows cannot be {fully_masked_rows!r}", hint="it is 'op' or 'zero'"
        )
    native = _unfuse.Program.load(os.fspath(path), fully_masked_rows, threads)
    return Program(native, threads)


class Program:
    """Takes torch tensors or NumPy arrays, as the exported model took tensors, and returns what it
    returned: torch tensors when it was given any, else NumPy arrays. Where the model takes an object
    of its own class (a dataclass), give one, or a dict of its fields; where it returns one, the
    result is a dict whose entries are attributes too. May be called from many
    threads at once. No gradient flows through it."""

    def __init__(self, native: Any, threads: int) -> None:
        self._native = native
        self._threads = threads
        fields = native.namedtuple_fields
        self._arguments = pytree.parse(native.in_spec, fields)
        self._results = pytree.parse(native.out_spec, fields)
        self._names: list[str] = native.argument_names
        #: (kind, name, the literal), one a leaf of the arguments.
        self._leaves: list[tuple[str, str, Any]] = native.leaves
        #: (whether it is a tensor, else the constant), one a leaf of the result.
        self._result_leaves: list[tuple[bool, Any]] = native.result_leaves

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = self._flatten(args, kwargs)
        inputs = []
        for leaf, (kind, name, literal) in zip(leaves, self._leaves, strict=True):
            if kind in ("tensor", "written"):
                inputs.append(arrays.describe(leaf, name, written=kind == "written"))
            elif kind == "integer":
                inputs.append(arrays.describe(_integer(leaf, name), name))
            elif leaf is not literal and leaf != literal:
                raise Error(
                    f"the model was exported with {literal!r} here, got {leaf!r}",
                    where=f"argument {name}",
                    hint="export it again for another value",
                )
        as_torch = arrays.wants_torch(leaves)
        threads = self._threads
        if threads == 0 and (torch := arrays.loaded_torch()) is not None:
            threads = torch.get_num_threads()
        tensors = iter(self._native.run(inputs, threads))
        results = (
            arrays.result(next(tensors), as_torch) if is_tensor else constant
            for is_tensor, constant in self._result_leaves
        )
        return self._results.unflatten(iter(results))

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        positional, keywords = self._arguments.children
        # Arguments that were positional at export may be given by name.
        names = self._names[len(args) : len(positional.children)]
        by_name = [name for name in names if name in kwargs and name not in keywords.keys]
        args = (*args, *(kwargs[name] for name in by_name))
        kwargs = {name: value for name, value in kwargs.items() if name not in by_name}
        self._check_names(args, kwargs, len(positional.children), keywords.keys)
        return positional.flatten(args, "arguments") + keywords.flatten(kwargs, "arguments")

    def _check_names(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], count: int, keys: list[str]
    ) -> None:
        wanted = f"it takes ({', '.join(self._names)})"
        if len(args) > count:
            raise Error(f"got {len(args)} positional arguments, not {count}", hint=wanted)
        missing = [*self._names[len(args) : count], *(key for key in keys if key not in kwargs)]
        if missing:
            raise Error(f"missing arguments: {', '.join(missing)}", hint=wanted)
        unknown = [name for name in kwargs if name not in keys]
        if unknown:
            raise Error(f"unknown arguments: {', '.join(unknown)}", hint=wanted)

    @property
    def report(self) -> Report:
        """What was opened; nothing is ever left to torch here."""
        native = self._native.report
        left = [
            LeftOp(op.op, op.count, op.reason, op.module_path, op.source)
            for op in native.left_to_torch
        ]
        return Report(1, 0, native.partitions, dict(native.opened), left, list(native.notes))

    def __repr__(self) -> str:
        return f"unfuse.Program({', '.join(self._names)})"


def _integer(value: Any, name: str) -> np.ndarray:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Error(f"expected an int, got {value!r}", where=f"argument {name}")
    return np.array(value, dtype=np.int64)
