"""Sizes, tensors, numbers and dims, drawn as eager code produces them."""

from __future__ import annotations

import random

import torch

from .catalogue import Row

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ALL = FLOATS + INTEGERS + [torch.bool]
FORMATS = [None, torch.contiguous_format, torch.preserve_format, torch.channels_last]


class Sampler:
    """Draws arguments. `rng` is a random.Random, or anything with its choice, randint, random."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def size(self) -> int:
        return self.rng.choice([1, 1, 2, 3, 4, 5])

    def sizes(self, low: int = 0, high: int = 4) -> list[int]:
        sizes = [self.size() for _ in range(self.rng.randint(low, high))]
        if sizes and self.chance(0.04):
            sizes[self.rng.randint(0, len(sizes) - 1)] = 0
        return sizes

    def tensor(self, sizes, dtypes=FLOATS, strided=True) -> torch.Tensor:
        dtype = self.rng.choice(dtypes)
        sizes = list(sizes)
        kind = self.rng.choice(["plain", "plain", "permuted", "sliced", "expanded"])
        if not strided or not sizes or kind == "plain":
            return fill(torch.empty(sizes, dtype=dtype))
        if kind == "permuted":
            order = list(range(len(sizes)))
            self.rng.shuffle(order)
            stored = [sizes[i] for i in order]
            inverse = [order.index(i) for i in range(len(sizes))]
            return fill(torch.empty(stored, dtype=dtype)).permute(inverse)
        at = self.rng.randint(0, len(sizes) - 1)
        if kind == "sliced":
            stored = list(sizes)
            stored[at] = stored[at] * 2 + 1
            step = tuple(slice(1, None, 2) if i == at else slice(None) for i in range(len(sizes)))
            return fill(torch.empty(stored, dtype=dtype))[step]
        stored = list(sizes)
        stored[at] = 1
        return fill(torch.empty(stored, dtype=dtype)).expand(sizes)

    def shrunk(self, sizes) -> list[int]:
        """Sizes that broadcast to these."""
        kept = list(sizes)[self.rng.randint(0, len(sizes)) :] if self.chance(0.4) else list(sizes)
        return [1 if self.chance(0.3) else size for size in kept]

    def number(self):
        return self.rng.choice([0, 1, 2, 3, -1, 0.5, 1.5, -2.0, True])

    def dim(self, rank: int) -> int:
        limit = max(rank, 1)
        return self.rng.randint(-limit, limit - 1)

    def dims(self, rank: int, low: int = 0) -> list[int]:
        if rank == 0:
            return []
        count = self.rng.randint(min(low, rank), rank)
        chosen = self.rng.sample(range(rank), count)
        return [d - rank if self.chance(0.3) else d for d in chosen]

    def dtype_or_none(self, dtypes=FLOATS):
        return self.rng.choice([None, *dtypes])


def fill(tensor: torch.Tensor) -> torch.Tensor:
    """Small positive numbers, so that every op is defined on them."""
    flat = torch.arange(tensor.numel()).remainder(5)
    if tensor.dtype == torch.bool:
        flat = flat.remainder(2)
    elif tensor.dtype.is_floating_point:
        flat = flat * 0.1 + 0.1
    return tensor.copy_(flat.to(tensor.dtype).reshape(tensor.shape))


def extra(s: Sampler, row: Row, skip: int) -> list:
    """Values for the required arguments after the first `skip`."""
    values = []
    for argument in row.overload._schema.arguments[skip:]:
        if argument.has_default_value() or argument.kwarg_only:
            break
        kind = str(argument.type)
        if kind == "Tensor":
            values.append(s.tensor(s.sizes(0, 2)))
        elif kind in ("number", "float"):
            values.append(s.rng.choice([0.25, 0.5, 1]))
        elif kind == "int":
            values.append(1)
        elif kind == "bool":
            values.append(False)
        elif kind.startswith("Optional"):
            values.append(None)
        else:
            raise NotImplementedError(f"{row.name}: {argument}")
    return values


def operand(s, row, index, sizes, dtypes=ALL):
    kind = str(row.overload._schema.arguments[index].type)
    if "Tensor" in kind:
        return s.tensor(sizes, dtypes)
    return s.number()
