"""Results that share memory with inputs, on the path without AOTAutograd (which does this itself).

A compiled graph computes its results into memory of their own. Where eager returns an input, or a
view of one, a later write to either must be seen through the other: those results are made from
the input after the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef


@dataclass
class _View:
    placeholder: int
    offset: int  #: of the result in the input's storage, beyond the input's own

    def of(self, computed: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
        if self.offset == 0 and _same_view(computed, base):
            return base
        offset = base.storage_offset() + self.offset
        return base.as_strided(computed.shape, computed.stride(), offset)


def _same_view(left: torch.Tensor, right: torch.Tensor) -> bool:
    return left.shape == right.shape and left.stride() == right.stride()


@dataclass
class Aliases:
    """By result index."""

    views: dict[int, _View]

    @classmethod
    def find(cls, traced: fx.GraphModule) -> Aliases:
        inputs: dict[StorageWeakRef, tuple[int, torch.Tensor]] = {}
        for index, node in enumerate(traced.graph.find_nodes(op="placeholder")):
            value = node.meta.get("val")
            if _has_storage(value):
                inputs.setdefault(StorageWeakRef(value.untyped_storage()), (index, value))
        (output,) = traced.graph.find_nodes(op="output")
        views = {}
        for index, node in enumerate(output.args[0]):
            value = node.meta.get("val") if isinstance(node, fx.Node) else None
            if not _has_storage(value):
                continue
            found = inputs.get(StorageWeakRef(value.untyped_storage()))
            if found is not None and value.dtype == found[1].dtype:
                offset = value.storage_offset() - found[1].storage_offset()
                views[index] = _View(found[0], int(offset))
        return cls(views)

    def restore(self, results: list[Any], arguments: Sequence[Any]) -> list[Any]:
        for index, view in self.views.items():
            results[index] = view.of(results[index], arguments[view.placeholder])
        return results


def _has_storage(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
