"""Arguments of ops that make tensors of sizes and numbers."""

from __future__ import annotations

import torch

from .sampler import ALL, FLOATS, FORMATS


def full(s, row):
    return [s.sizes(), s.number(), {"dtype": s.dtype_or_none(ALL)}]


def sized(s, row):
    floats_only = row.name.startswith("aten.rand")
    return [s.sizes(), {"dtype": s.dtype_or_none(FLOATS if floats_only else ALL)}]


def full_like(s, row):
    return [s.tensor(s.sizes(), ALL), s.number(), {"dtype": s.dtype_or_none(ALL)}]


def like(s, row):
    dtypes = FLOATS if "rand" in row.name else ALL
    return [
        s.tensor(s.sizes(), dtypes),
        {"dtype": s.dtype_or_none(dtypes), "memory_format": s.rng.choice(FORMATS)},
    ]


def new_full(s, row):
    return [s.tensor([2], ALL), s.sizes(), s.number(), {"dtype": s.dtype_or_none(ALL)}]


def new_sized(s, row):
    return [s.tensor([2], ALL), s.sizes(), {"dtype": s.dtype_or_none(ALL)}]


def arange(s, row):
    start, end = s.rng.choice([(0, 5), (1, 7), (0.0, 3.5), (2, 2), (-1.5, 2)])
    step = s.rng.choice([1, 2, 0.5])
    dtype = {"dtype": s.rng.choice([None, torch.float32, torch.int64])}
    if row.name.endswith("default"):
        return [end, dtype]
    return [start, end, *([step] if row.name.endswith("step") else []), dtype]


def linspace(s, row):
    return [0, 1, s.rng.randint(0, 5), {"dtype": s.dtype_or_none(FLOATS)}]


def scalar_tensor(s, row):
    return [s.number(), {"dtype": s.dtype_or_none(ALL)}]


def eye(s, row):
    sizes = [s.rng.randint(0, 4)] * 1 + ([s.rng.randint(0, 4)] if row.name.endswith(".m") else [])
    return [*sizes, {"dtype": s.dtype_or_none(ALL)}]


SAMPLERS = {
    "full_type": full,
    "sized_type": sized,
    "empty_type": sized,
    "full_like_type": full_like,
    "like_type": like,
    "new_full_type": new_full,
    "new_sized_type": new_sized,
    "arange_type": arange,
    "arange_start_type": arange,
    "arange_step_type": arange,
    "linspace_type": linspace,
    "scalar_tensor_type": scalar_tensor,
    "eye_type": eye,
    "eye_m_type": eye,
}
