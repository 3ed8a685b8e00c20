"""Arguments between FX and our graph: dtypes, devices, formats, types of values."""

from __future__ import annotations

from typing import Any

import torch

from unfuse._unfuse import Device, DType, Layout, MemoryFormat, Type

from . import symbolic

_FORMATS = {
    torch.contiguous_format: MemoryFormat.contiguous_format,
    torch.preserve_format: MemoryFormat.preserve_format,
    torch.channels_last: MemoryFormat.channels_last,
    torch.channels_last_3d: MemoryFormat.channels_last_3d,
}
_TORCH_FORMATS = {ours: theirs for theirs, ours in _FORMATS.items()}
_LAYOUTS = {torch.strided: Layout.strided, torch.sparse_coo: Layout.sparse_coo}
_TORCH_LAYOUTS = {ours: theirs for theirs, ours in _LAYOUTS.items()}


class NotExpressible(Exception):
    """A Python object that the graph's arguments cannot hold."""


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def to_argument(value: Any) -> Any:
    """A constant argument of an FX node as the binding takes it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.SymInt):
        return symbolic.to_dim(value)
    if isinstance(value, torch.SymFloat | torch.SymBool):
        return symbolic.to_number(value)
    if isinstance(value, torch.dtype):
        return _dtype(value)
    if isinstance(value, torch.device):
        return Device(str(value))
    if isinstance(value, torch.memory_format):
        return _FORMATS[value]
    if isinstance(value, torch.layout):
        return _LAYOUTS.get(value, Layout.other)
    raise NotExpressible


def _dtype(dtype: torch.dtype) -> DType:
    try:
        return DType(dtype_name(dtype))
    except RuntimeError:
        raise NotExpressible from None


def from_argument(value: Any) -> Any:
    """The inverse, for a call into torch."""
    if isinstance(value, DType):
        return getattr(torch, value.name)
    if isinstance(value, Device):
        return torch.device(value.text)
    if isinstance(value, MemoryFormat):
        return _TORCH_FORMATS[value]
    if isinstance(value, Layout):
        return _TORCH_LAYOUTS.get(value, torch.strided)
    if isinstance(value, list):
        return [from_argument(element) for element in value]
    return value


def value_type(value: Any) -> Type:
    """The type of a traced value: a fake tensor, a symbolic number, None."""
    if isinstance(value, torch.Tensor):
        return _tensor_type(value)
    if value is None:
        return Type.none()
    if isinstance(value, bool | torch.SymBool):
        return Type.boolean()
    if isinstance(value, int | torch.SymInt):
        return Type.integer(symbolic.to_dim(value))
    if isinstance(value, float | torch.SymFloat):
        return Type.number()
    return Type.opaque(type(value).__name__)


def _tensor_type(tensor: torch.Tensor) -> Type:
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        return Type.opaque(f"{dtype_name(tensor.dtype)}, {tensor.layout}")
    try:
        _dtype(tensor.dtype)
    except NotExpressible:
        return Type.opaque(dtype_name(tensor.dtype))
    return Type.tensor(
        dtype_name(tensor.dtype),
        [symbolic.to_dim(size) for size in tensor.shape],
        [symbolic.to_dim(stride) for stride in tensor.stride()],
        symbolic.to_dim(tensor.storage_offset()),
        str(tensor.device),
    )


def describe_tensor(tensor: torch.Tensor) -> tuple[int, str, list[int], list[int], torch.Tensor]:
    """How the binding takes a real tensor; the graph or executable keeps its memory alive."""
    return (
        tensor.data_ptr(),
        dtype_name(tensor.dtype),
        list(tensor.shape),
        list(tensor.stride()),
        tensor,
    )
