"""Arguments of pointwise ops."""

from __future__ import annotations

import torch

from .sampler import ALL, FLOATS, INTEGERS, extra, operand


def unary(s, row):
    if row.name == "aten.round.decimals":
        return [s.tensor(s.sizes(), FLOATS), {"decimals": 1}]
    if row.name == "aten.prelu.default":
        self = s.tensor(s.sizes())
        return [self, s.tensor([1], [self.dtype])]
    return [s.tensor(s.sizes(), ALL), *extra(s, row, 1)]


def binary(s, row):
    sizes = s.sizes()
    dtypes = s.rng.choice([ALL, FLOATS, INTEGERS, [s.rng.choice(ALL)]])
    return [
        operand(s, row, 0, s.shrunk(sizes), dtypes),
        operand(s, row, 1, s.shrunk(sizes), dtypes),
        *extra(s, row, 2),
    ]


def divide_mode(s, row):
    return [*binary(s, row), {"rounding_mode": s.rng.choice([None, "floor", "trunc"])}]


def ternary(s, row):
    sizes = s.sizes()
    dtypes = s.rng.choice([FLOATS, [torch.float32], ALL])
    return [operand(s, row, i, s.shrunk(sizes), dtypes) for i in range(3)]


def where(s, row):
    sizes = s.sizes()
    return [
        s.tensor(s.shrunk(sizes), [torch.bool]),
        operand(s, row, 1, s.shrunk(sizes)),
        operand(s, row, 2, s.shrunk(sizes)),
    ]


def masked_fill(s, row):
    sizes = s.sizes()
    dtypes = [*FLOATS, torch.int64, torch.bool]
    value = s.tensor([], dtypes) if row.name.endswith("Tensor") else s.number()
    return [s.tensor(s.shrunk(sizes), dtypes), s.tensor(s.shrunk(sizes), [torch.bool]), value]


def gated(s, row):
    sizes = s.sizes(1, 4)
    at = s.dim(len(sizes))
    sizes[at] *= 2
    return [s.tensor(sizes), at]


SAMPLERS = {
    "unary_type": unary,
    "unary_magnitude_type": unary,
    "unary_floating_type": unary,
    "unary_bool_type": unary,
    "binary_type": binary,
    "square_type": unary,
    "reversed_binary_type": binary,
    "number_power_type": binary,
    "binary_floating_type": binary,
    "binary_bool_type": binary,
    "divide_mode_type": divide_mode,
    "float_power_type": binary,
    "ternary_type": ternary,
    "where_type": where,
    "masked_fill_type": masked_fill,
    "gated_type": gated,
}
