"""Parameters are inputs of a compiled graph; what is packed from them is a snapshot kept here.

A snapshot belongs to one set of parameter objects, so that several instances of a module share the
compiled code and not the weights. It is made again when a parameter was replaced, moved, given
other strides, or written in a way that torch records (its `_version` rises).
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from unfuse import _unfuse

from .errors import Error
from .fx_arguments import describe_tensor

_caches: weakref.WeakSet[ParameterCache] = weakref.WeakSet()


def refresh(model: torch.nn.Module) -> None:
    """Makes compiled code read the model's parameters and buffers anew at its next call.

    Only writes that torch does not record need this: `parameter.data.mul_(2)`, writes through
    NumPy's memory, and any in-place write to a tensor made under `torch.inference_mode()`.
    """
    if not isinstance(model, torch.nn.Module):
        raise Error(f"expected an nn.Module, not {type(model).__name__}")
    tensors = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
    for cache in list(_caches):
        cache.forget(tensors)


class _Snapshot:
    def __init__(self, cache: ParameterCache, slots: list[Any]) -> None:
        tensors = [slots[index] for index in cache.indices]
        self.identities = [id(tensor) for tensor in tensors]
        # Before packing, so that a write meanwhile is seen as a change.
        self.state = _unfuse.ParameterState(slots, cache.indices)
        # Packed weights may refer to a parameter's memory: the alias keeps the memory, and not the
        # parameter, alive.
        aliases = [tensor.detach() for tensor in tensors]
        self.preparation = cache.executable.prepare([describe_tensor(alias) for alias in aliases])
        self._watchers = [
            weakref.ref(tensor, _Forget(cache, self.identities)) for tensor in tensors
        ]


class _Forget:
    """Drops a snapshot when one of its parameters dies, whose id another may then take."""

    def __init__(self, cache: ParameterCache, identities: list[int]) -> None:
        self.cache = weakref.ref(cache)
        self.identities = identities

    def __call__(self, _: Any) -> None:
        cache = self.cache()
        if cache is not None:
            cache.drop(self.identities)


class ParameterCache:
    """The snapshots of one executable, whose parameters lie in the slots `indices`, in its own
    order. Threads may call it at once: a snapshot is immutable, and replaced in one assignment."""

    def __init__(self, executable: Any, indices: list[int]) -> None:
        self.executable = executable
        self.indices = indices
        self._snapshots: dict[tuple[int, ...], _Snapshot] = {}
        self._latest: _Snapshot | None = None
        _caches.add(self)

    def preparation(self, slots: list[Any]) -> Any:
        """What the executable needs to run with the parameters in these slots."""
        latest = self._latest
        if latest is not None and latest.state.matches(slots):
            return latest.preparation
        return self._other(slots).preparation

    def _other(self, slots: list[Any]) -> _Snapshot:
        """A snapshot of other parameters than those of the last call, or of changed ones."""
        snapshot = self._snapshots.get(tuple(id(slots[index]) for index in self.indices))
        if snapshot is None or not snapshot.state.matches(slots):
            snapshot = _Snapshot(self, slots)
            self._snapshots[tuple(snapshot.identities)] = snapshot
        self._latest = snapshot
        return snapshot

    def drop(self, identities: list[int]) -> None:
        self._snapshots.pop(tuple(identities), None)
        latest = self._latest
        if latest is not None and latest.identities == identities:
            self._latest = None

    def forget(self, identities: set[int]) -> None:
        for snapshot in list(self._snapshots.values()):
            if not identities.isdisjoint(snapshot.identities):
                self.drop(snapshot.identities)
