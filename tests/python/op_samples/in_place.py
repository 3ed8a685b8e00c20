"""Arguments of ops that write their first argument."""

from __future__ import annotations

import torch

from .copies import copies
from .layers import bmm, mm, mv
from .sampler import FLOATS, operand

IN_PLACE_PRODUCTS = {
    "aten.addbmm_.default": bmm,
    "aten.addmm_.default": mm,
    "aten.addmv_.default": mv,
    "aten.baddbmm_.default": bmm,
}


def in_place(s, row):
    sizes = s.sizes(1, 3)
    self = s.tensor(sizes, FLOATS)
    names = [argument.name for argument in row.overload._schema.arguments]
    if "mask" in names:
        rest = [s.tensor(sizes, [torch.bool]), 0.5 if row.name.endswith("Scalar") else s.tensor([])]
        if "scatter" in row.name:
            rest = [s.tensor(sizes, [torch.bool]), s.tensor(sizes, [self.dtype])]
        return [self, *rest]
    if "train" in names:
        return [self, 0.5, False]
    if "index" in names or "indices" in names:
        return copies(s, row)
    if "bitwise" in row.name or "__i" in row.name:
        self = s.tensor(sizes, [torch.int32])
        values = [operand(s, row, i, sizes, [torch.int32]) for i in range(1, len(names))]
        return [self, *[2 if isinstance(value, float) else value for value in values]]
    if row.name in IN_PLACE_PRODUCTS:
        left, right = IN_PLACE_PRODUCTS[row.name](s, row)
        sizes = [*left.shape[:-1], *right.shape[1 if right.dim() < 3 else 2 :]]
        sizes = sizes[1:] if row.name == "aten.addbmm_.default" else sizes
        return [s.tensor(sizes, [left.dtype]), left, right]
    if "decimals" in names:
        return [self, {"decimals": 1}]
    if "min" in names:
        return [self, operand(s, row, 1, sizes, [self.dtype])]
    if "dim" in names:
        return [self, s.dim(len(sizes))]
    if row.family == "creation" and len(names) > 1 and names[1] == "value":
        return [self, s.tensor([]) if row.name.endswith("Tensor") else 0.5]
    values = []
    for i, argument in enumerate(row.overload._schema.arguments[1:], 1):
        if argument.has_default_value() or argument.kwarg_only:
            break
        values.append(operand(s, row, i, sizes, [self.dtype]))
    if "rounding_mode" in names:
        values.append({"rounding_mode": "floor"})
    return [self, *values]


SAMPLERS = {
    "unchanged_type": in_place,
}
