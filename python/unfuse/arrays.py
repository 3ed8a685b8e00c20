"""Tensors of PyTorch and arrays of NumPy alike, in and out of the native library."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import Error

#: Address, dtype name, sizes, strides in elements, owner of the memory.
Description = tuple[int, str, list[int], list[int], Any]


def loaded_torch() -> Any:
    """PyTorch when the process has it, else None: unfuse never needs it here."""
    return sys.modules.get("torch")


def is_torch(value: Any) -> bool:
    torch = loaded_torch()
    return torch is not None and isinstance(value, torch.Tensor)


def is_tensor(value: Any) -> bool:
    return is_torch(value) or isinstance(value, np.ndarray)


def describe(value: Any, name: str, written: bool = False) -> Description:
    """Throws Error naming the argument when the value is no tensor, not in this machine's memory,
    or `written` by the model and of a kind that it cannot write to."""
    if is_torch(value):
        described = _describe_torch(value, name)
        writable = described[4] is value
    elif isinstance(value, np.ndarray):
        described = _describe_numpy(value, name)
        writable = described[4] is value and value.flags.writeable
    else:
        described, writable = None, False
    if described is not None:
        if written and not writable:
            raise Error(
                "the model writes to this tensor, which it cannot",
                where=f"argument {name}",
                hint="pass a writable copy",
            )
        return described
    raise Error(
        f"expected a tensor, got a {type(value).__name__}",
        where=f"argument {name}",
        hint="pass a torch.Tensor or a numpy.ndarray",
    )


def _describe_torch(tensor: Any, name: str) -> Description:
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided" or tensor.is_nested:
        kind = "nested tensor" if tensor.is_nested else "tensor"
        raise Error(
            f"a {kind} on {tensor.device} with layout {tensor.layout}",
            where=f"argument {name}",
            hint="pass a dense tensor on the CPU",
        )
    marked = tensor.is_conj() or tensor.is_neg()
    plain = tensor.resolve_conj().resolve_neg() if marked else tensor
    dtype = str(plain.dtype).removeprefix("torch.")
    return plain.data_ptr(), dtype, list(plain.shape), list(plain.stride()), plain


def _describe_numpy(array: np.ndarray, name: str) -> Description:
    if not array.dtype.isnative:
        raise Error("an array of foreign byte order", where=f"argument {name}")
    size = array.itemsize
    if any(stride < 0 or stride % size for stride in array.strides):
        array = np.ascontiguousarray(array)
    strides = [stride // size for stride in array.strides]
    return array.ctypes.data, array.dtype.name, list(array.shape), strides, array


def wants_torch(leaves: Sequence[Any]) -> bool:
    """Whether results are torch tensors: as the arguments are; without any, when torch is there."""
    kinds = [is_torch(leaf) for leaf in leaves if is_tensor(leaf)]
    return any(kinds) if kinds else loaded_torch() is not None


def result(tensor: Any, as_torch: bool) -> Any:
    """A result of the native library as a torch tensor or a NumPy array that shares its memory."""
    if as_torch:
        return loaded_torch().from_dlpack(tensor.dlpack())
    array = tensor.numpy()
    return array.view(_bfloat16()) if tensor.dtype == "bfloat16" else array


def _bfloat16() -> Any:
    try:
        return importlib.import_module("ml_dtypes").bfloat16
    except ImportError:
        raise Error(
            "a result is bfloat16, which NumPy alone does not have",
            "unsupported",
            hint="pip install ml_dtypes, or pass torch tensors to get torch tensors",
        ) from None
