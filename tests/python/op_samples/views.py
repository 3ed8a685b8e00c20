"""Arguments of views."""

from __future__ import annotations

import math

import torch

from .sampler import ALL, FLOATS, fill


def regrouped(s, sizes) -> list[int]:
    """Other sizes for as many elements."""
    numel = math.prod(sizes)
    if numel == 0:
        return list(sizes)
    factors = []
    for prime in (2, 3, 5):
        while numel % prime == 0:
            numel //= prime
            factors.append(prime)
    s.rng.shuffle(factors)
    wanted = [1] * s.rng.randint(1, 4)
    for factor in factors:
        wanted[s.rng.randint(0, len(wanted) - 1)] *= factor
    if s.chance(0.3):
        wanted[s.rng.randint(0, len(wanted) - 1)] = -1
    return wanted


def view(s, row):
    sizes = s.sizes()
    wanted = list(sizes) if s.chance(0.2) else regrouped(s, sizes)
    if s.chance(0.3) and len(sizes) > 1:
        wanted = [*sizes[:-2], sizes[-2] * sizes[-1]]
    return [s.tensor(sizes, ALL), wanted]


def view_like(s, row):
    sizes = s.sizes()
    other = [size for size in regrouped(s, sizes)]
    if -1 in other:
        other = sizes
    return [s.tensor(sizes), s.tensor(other)]


def view_dtype(s, row):
    return [
        s.tensor(s.sizes(), [torch.float32, torch.int32]),
        s.rng.choice([torch.int32, torch.float32]),
    ]


def transpose(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes, ALL), s.dim(len(sizes)), s.dim(len(sizes))]


def t(s, row):
    return [s.tensor(s.sizes(0, 2), ALL)]


def matrix(s, row):
    return [s.tensor([] if s.chance(0.1) else s.sizes(2, 4), ALL)]


def plain(s, row):
    return [s.tensor(s.sizes(), ALL)]


def permute(s, row):
    sizes = s.sizes()
    order = list(range(len(sizes)))
    s.rng.shuffle(order)
    return [s.tensor(sizes), [d - len(sizes) if s.chance(0.3) else d for d in order]]


def move_dimension(s, row):
    sizes = s.sizes(0, 4)
    if row.name.endswith(".int"):
        return [s.tensor(sizes), s.dim(len(sizes)), s.dim(len(sizes))]
    count = s.rng.randint(0, len(sizes))
    return [
        s.tensor(sizes),
        s.rng.sample(range(len(sizes)), count),
        s.rng.sample(range(len(sizes)), count),
    ]


def expand(s, row):
    wanted = s.sizes(0, 4)
    sizes = s.shrunk(wanted)
    added = len(wanted) - len(sizes)
    given = [-1 if i >= added and s.chance(0.2) else w for i, w in enumerate(wanted)]
    return [s.tensor(sizes), given]


def expand_as(s, row):
    wanted = s.sizes(0, 4)
    return [s.tensor(s.shrunk(wanted)), s.tensor(wanted)]


def broadcast_tensors(s, row):
    sizes = s.sizes()
    return [[s.tensor(s.shrunk(sizes)) for _ in range(s.rng.randint(1, 3))]]


def meshgrid(s, row):
    dtype = [s.rng.choice(FLOATS)]
    tensors = [s.tensor(s.sizes(0, 1), dtype) for _ in range(s.rng.randint(1, 3))]
    return [
        tensors,
        *([{"indexing": s.rng.choice(["ij", "xy"])}] if "indexing" in row.name else []),
    ]


def nothing(s, row):
    name = row.name.split(".")[1]
    if name == "_assert_tensor_metadata":
        return [s.tensor(s.sizes())]
    if name == "_assert_async":
        return [torch.ones(1, dtype=torch.bool), *(["told"] if row.name.endswith("msg") else [])]
    return [1, *(["told"] if name == "_assert_scalar" else [])]


def squeeze_dimensions(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes), s.dims(len(sizes)) if row.name.endswith("dims") else s.dim(len(sizes))]


def unsqueeze(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes), s.dim(len(sizes) + 1)]


def select(s, row):
    sizes = [max(size, 1) for size in s.sizes(1, 4)]
    at = s.dim(len(sizes))
    return [s.tensor(sizes), at, s.rng.randint(-sizes[at], sizes[at] - 1)]


def bound(s, size):
    return s.rng.choice([None, 0, 1, size, size - 1, -1, -2, -10, 10, 9223372036854775807])


def slice_(s, row):
    sizes = s.sizes(1, 4)
    at = s.dim(len(sizes))
    return [
        s.tensor(sizes),
        at,
        bound(s, sizes[at]),
        bound(s, sizes[at]),
        s.rng.choice([1, 1, 2, 3]),
    ]


def narrow(s, row):
    sizes = s.sizes(1, 4)
    at = s.dim(len(sizes))
    start = s.rng.randint(0, sizes[at])
    return [s.tensor(sizes), at, start, s.rng.randint(0, sizes[at] - start)]


def split(s, row):
    sizes = s.sizes(1, 3)
    return [s.tensor(sizes), s.rng.randint(1, 4), s.dim(len(sizes))]


def split_sizes(s, row):
    sizes = s.sizes(1, 3)
    at = s.dim(len(sizes))
    first = s.rng.randint(0, sizes[at])
    return [s.tensor(sizes), [first, sizes[at] - first], at]


def tensor_split_indices(s, row):
    sizes = s.sizes(1, 3)
    return [s.tensor(sizes), sorted(s.rng.sample(range(6), 2)), s.dim(len(sizes))]


def dim_only(s, row):
    sizes = s.sizes(1, 4)
    return [s.tensor(sizes, ALL), s.dim(len(sizes))]


def unflatten(s, row):
    sizes = s.sizes(1, 3)
    at = s.dim(len(sizes))
    inner = s.rng.choice([[1, sizes[at]], [-1, 1], [sizes[at], 1, -1], [sizes[at]]])
    return [s.tensor(sizes), at, inner]


def flatten(s, row):
    sizes = s.sizes()
    limit = max(len(sizes), 1)
    first = s.rng.randint(0, limit - 1)
    return [s.tensor(sizes), first, s.rng.choice([-1, s.rng.randint(first, limit - 1)])]


def as_strided(s, row):
    return [
        fill(torch.empty(64)),
        [2, 3],
        [s.rng.randint(0, 4), s.rng.randint(0, 4)],
        s.rng.choice([None, 3]),
    ]


def reshape_alias(s, row):
    return [fill(torch.empty(4, 6)), [4, 2, 3], [6, 3, 1]]


def diagonal(s, row):
    sizes = s.sizes(2, 4)
    first, second = s.rng.sample(range(len(sizes)), 2)
    return [s.tensor(sizes), s.rng.randint(-3, 3), first, second]


def unfold(s, row):
    sizes = s.sizes(0, 3)
    at = s.dim(len(sizes))
    length = sizes[at] if sizes else 1
    return [s.tensor(sizes), at, s.rng.randint(0, length), s.rng.randint(1, 3)]


SAMPLERS = {
    "view_type": view,
    "view_dtype_type": view_dtype,
    "reshape_type": view,
    "reshape_as_type": view_like,
    "view_as_type": view_like,
    "reshape_alias_type": reshape_alias,
    "transpose_type": transpose,
    "t_type": t,
    "reverse_dimensions_type": t,
    "matrix_transpose_type": matrix,
    "permute_type": permute,
    "move_dimension_type": move_dimension,
    "expand_type": expand,
    "expand_as_type": expand_as,
    "broadcast_tensors_type": broadcast_tensors,
    "meshgrid_type": meshgrid,
    "nothing_type": nothing,
    "squeeze_type": plain,
    "squeeze_dimensions_type": squeeze_dimensions,
    "unsqueeze_type": unsqueeze,
    "select_type": select,
    "slice_type": slice_,
    "narrow_type": narrow,
    "split_type": split,
    "split_sizes_type": split_sizes,
    "chunk_type": split,
    "tensor_split_type": split,
    "tensor_split_indices_type": tensor_split_indices,
    "unbind_type": dim_only,
    "unflatten_type": unflatten,
    "flatten_type": flatten,
    "ravel_type": plain,
    "as_strided_type": as_strided,
    "diagonal_type": diagonal,
    "unfold_type": unfold,
    "at_least_1d_type": plain,
    "at_least_2d_type": plain,
    "at_least_3d_type": plain,
    "sort_type": dim_only,
    "argsort_type": dim_only,
}
