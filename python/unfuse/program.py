"""Exported programs: load a .pt2, call it as the model was called. PyTorch is not needed here."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from unfuse import _unfuse

from . import arrays, pytree
from .errors import Error
from .options import ARITHMETIC, check_choice
from .report import LeftOp, Report

#: As many as the command takes.
_MOST_THREADS = 4096


def load(
    path: str | os.PathLike[str],
    *,
    fully_masked_rows: str = "op",
    padded_rows: str = "exported",
    arithmetic: str = "fastest",
    threads: int = 0,
    model: str = "",
) -> Program:
    """Reads and compiles a .pt2 archive that torch.export.save wrote (torch 2.9 or newer).

    `fully_masked_rows` is what attention gives for a row whose keys are all masked: "op", what the
    op in the graph gives, or "zero". `padded_rows` is what nn.TransformerEncoder gives at rows that
    its padding mask drops: "exported", what the exported graph computes, or "zero", what eager's
    nested tensors give before the encoder's last norm where padding is at the end of every
    sequence; then they are not computed. `arithmetic` is what 16-bit models multiply: "float32",
    "bfloat16" (those of bfloat16), or "fastest", what is faster on this machine. `threads` 0 takes
    torch's number of threads at each call when torch is loaded, else OMP_NUM_THREADS, else all
    cores. `model` is the one to take from an archive of several, by its name there.
    """
    check_choice("fully_masked_rows", fully_masked_rows, ("op", "zero"))
    check_choice("padded_rows", padded_rows, ("exported", "zero"))
    check_choice("arithmetic", arithmetic, ARITHMETIC)
    try:
        threads = operator.index(threads)
    except TypeError:
        raise Error(f"threads cannot be {threads!r}", hint="it is an int") from None
    if not 0 <= threads <= _MOST_THREADS:
        raise Error(f"threads cannot be {threads}", hint=f"it is from 0 to {_MOST_THREADS}")
    if not isinstance(model, str):
        raise Error(f"model cannot be {model!r}", hint="it is a name in the archive, a str")
    native = _unfuse.Program.load(
        file_name(path), fully_masked_rows, padded_rows, arithmetic, threads, model
    )
    return Program(native, threads)


def file_name(path: Any) -> bytes:
    """As the system takes it, whatever its characters."""
    name = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise Error(
            f"expected a path, not {type(path).__name__}", hint="pass a str or a pathlib.Path"
        )
    encoded = os.fsencode(name)
    if b"\0" in encoded:
        raise Error(f"a path with a null character: {name!r}")
    return encoded


class Program:
    """Takes torch tensors or NumPy arrays, as the exported model took tensors, and returns what it
    returned: torch tensors when it was given any, else NumPy arrays. Where the model takes an
    object of its own class (a dataclass), give one, or a dict of its fields; where it returns one,
    the result is a dict whose entries are attributes too. May be called from many threads at once.
    No gradient flows through it."""

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
        remaining = self._names[len(args) : len(positional.children)]
        by_name = [name for name in remaining if name not in keywords.keys]
        if (
            len(args) > len(positional.children)
            or by_name != remaining
            or (kwargs.keys() != {*by_name, *keywords.keys})
        ):
            self._check_names(args, kwargs)
        args = (*args, *(kwargs[name] for name in by_name))
        kwargs = {name: value for name, value in kwargs.items() if name not in by_name}
        return positional.flatten(args, "arguments") + keywords.flatten(kwargs, "arguments")

    def _check_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        positional, keywords = self._arguments.children
        names, keys = self._names[: len(positional.children)], keywords.keys
        remaining = names[len(args) :]
        faults = {
            "unknown arguments": [name for name in kwargs if name not in (*names, *keys)],
            "arguments given twice": [
                name for name in names[: len(args)] if name in kwargs and name not in keys
            ],
            "missing arguments": [
                *(name for name in remaining if name in keys or name not in kwargs),
                *(name for name in keys if name not in kwargs),
            ],
        }
        found = [f"{what}: {', '.join(which)}" for what, which in faults.items() if which]
        if len(args) > len(names):
            found.insert(0, f"got {len(args)} positional arguments, not {len(names)}")
        if found:
            raise Error("; ".join(found), hint=f"it takes ({', '.join(self._names)})")

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
        """ "unfuse.Program(x: float32[s0, 8]) -> logits: float32[s0, 2]": what it takes, and the
        tensors that it returns, by their places in the result."""
        taken = ", ".join(f"{name}: {_type(*rest)}" for name, *rest in self._native.inputs)
        leaves = zip(self._results.places(), self._result_leaves, strict=True)
        places = [place for place, (is_tensor, _) in leaves if is_tensor]
        returned = ", ".join(
            f"{place}: {_type(*rest)}" if place else _type(*rest)
            for place, (_, *rest) in zip(places, self._native.outputs, strict=True)
        )
        return f"unfuse.Program({taken}) -> {returned or None}"


def _type(dtype: str, sizes: list[str]) -> str:
    return f"{dtype}[{', '.join(sizes)}]"


def _integer(value: Any, name: str) -> np.ndarray:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Error(f"expected an int, got {value!r}", where=f"argument {name}")
    return np.array(value, dtype=np.int64)
