"""Arguments of reductions and scans."""

from __future__ import annotations

import math

import torch

from .sampler import ALL, FLOATS, extra


def reduce_all(s, row):
    sizes = [max(size, 1) for size in s.sizes()]
    return [s.tensor(sizes, ALL), *extra(s, row, 1)]


def reduce_list(s, row):
    sizes = [max(size, 1) for size in s.sizes()]
    names = [argument.name for argument in row.overload._schema.arguments]
    values = [s.tensor(sizes, ALL), s.dims(len(sizes)), s.chance(0.5)]
    if "dtype" in names:
        values.append({"dtype": s.dtype_or_none(FLOATS)})
    return values


def reduce_dim(s, row):
    sizes = [max(size, 1) for size in s.sizes()]
    # PyTorch's median reads beyond an expanded tensor.
    strided = "median" not in row.name
    return [s.tensor(sizes, ALL, strided), s.dim(len(sizes)), s.chance(0.5)]


def reduce_one_or_more(s, row):
    kind = str(row.overload._schema.arguments[1].type)
    return reduce_dim(s, row) if kind in ("int", "Optional[int]") else reduce_list(s, row)


def variance_all(s, row):
    return [s.tensor([2, *s.sizes()]), False]


def variance(s, row):
    sizes = [max(size, 1) for size in s.sizes()]
    dims = s.dims(len(sizes))
    if row.name.endswith("correction"):
        return [s.tensor(sizes), dims, {"correction": 0, "keepdim": s.chance(0.5)}]
    return [s.tensor(sizes), dims, False, s.chance(0.5)]


def vector_norm(s, row):
    sizes = [max(size, 1) for size in s.sizes()]
    return [s.tensor(sizes), 2, s.rng.choice([None, s.dims(len(sizes))]), s.chance(0.5)]


def scan(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes, ALL), s.dim(len(sizes)), {"dtype": s.dtype_or_none()}]


def topk(s, row):
    """Of numbers that differ: which of equal ones are taken is PyTorch's own affair."""
    sizes = [max(size, 1) for size in s.sizes(1, 3)]
    at = s.dim(len(sizes))
    numbers = torch.randperm(math.prod(sizes)).reshape(sizes)
    tensor = s.tensor(sizes, [*FLOATS, torch.int64, torch.int32]).contiguous().copy_(numbers)
    return [tensor, s.rng.randint(1, sizes[at]), at, s.chance(0.5)]


SAMPLERS = {
    "sum_all_type": reduce_all,
    "sum_type": reduce_list,
    "prod_type": reduce_dim,
    "mean_all_type": reduce_all,
    "mean_type": reduce_list,
    "extremum_all_type": reduce_all,
    "extremum_type": reduce_list,
    "extremum_index_type": reduce_dim,
    "any_all_type": reduce_all,
    "any_type": reduce_one_or_more,
    "arg_extremum_type": reduce_one_or_more,
    "variance_all_type": variance_all,
    "variance_type": variance,
    "variance_mean_type": variance,
    "logsumexp_type": reduce_list,
    "vector_norm_type": vector_norm,
    "scan_type": scan,
    "topk_type": topk,
}
