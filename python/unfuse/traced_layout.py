"""How tensors lay when the graph was traced. What runs on the target may lie otherwise: to the
graph strides carry no meaning, but to an op that torch runs they may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from unfuse._unfuse import Dim

from .symbolic import is_data_dependent, to_dim


@dataclass
class TracedLayout:
    rank: int
    #: None for a contiguous tensor.
    strides: list[Dim] | None

    @classmethod
    def of(cls, traced: Any) -> TracedLayout | None:
        """None for what has no strides, or has some that only its elements tell."""
        if not isinstance(traced, torch.Tensor) or traced.layout is not torch.strided:
            return None
        if traced.is_nested or is_data_dependent(traced):
            return None
        if traced.is_contiguous():
            return cls(traced.dim(), None)
        return cls(traced.dim(), [to_dim(stride) for stride in traced.stride()])

    def laid_out(self, tensor: Any, symbols: dict[str, int]) -> Any:
        """The tensor, or a copy of it that lies as was traced."""
        if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
            return tensor
        if tensor.dim() != self.rank:  # A pass gave the node another operand.
            return tensor
        if self.strides is None:
            return tensor.contiguous()
        known = all(name in symbols for stride in self.strides for name in stride.symbols())
        if not known or tensor.numel() == 0:
            return tensor
        wanted = [stride.evaluate(symbols) for stride in self.strides]
        sizes = tensor.shape
        if all(s == 1 or w == h for s, w, h in zip(sizes, wanted, tensor.stride())):
            return tensor
        laid = torch.empty_strided(sizes, wanted, dtype=tensor.dtype)
        written = laid
        for dim, (size, stride) in enumerate(zip(sizes, wanted)):
            if stride == 0 and size > 1:  # One place for all of them: written once.
                written, tensor = written.narrow(dim, 0, 1), tensor.narrow(dim, 0, 1)
        written.copy_(tensor)
        return laid
