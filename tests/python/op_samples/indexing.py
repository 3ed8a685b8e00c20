"""Arguments of ops that take indices."""

from __future__ import annotations

import math

import torch


def index_tensor(s, sizes, limit):
    count = math.prod(sizes)
    return torch.tensor(
        [s.rng.randint(0, limit - 1) for _ in range(count)], dtype=torch.int64
    ).reshape(sizes)


def embedding(s, row):
    return [s.tensor([5, s.size()]), index_tensor(s, s.sizes(0, 3), 5)]


def index_select(s, row):
    sizes = [max(size, 1) for size in s.sizes(0, 4)]
    at = s.dim(len(sizes))
    limit = sizes[at] if sizes else 1
    count = s.rng.randint(0, 3) if sizes else 1
    return [s.tensor(sizes), at, index_tensor(s, [count], limit)]


def gather(s, row):
    sizes = [max(size, 1) for size in s.sizes(1, 3)]
    at = s.dim(len(sizes))
    return [
        s.tensor(sizes),
        at,
        index_tensor(s, [s.rng.randint(1, size) for size in sizes], sizes[at]),
    ]


def index(s, row):
    sizes = [max(size, 1) for size in s.sizes(1, 4)]
    shape = s.sizes(0, 2)
    indices = []
    for size in sizes:
        given = s.chance(0.5)
        indices.append(index_tensor(s, s.shrunk(shape), size) if given else None)
    if all(i is None for i in indices):
        indices[0] = index_tensor(s, shape, sizes[0])
    while indices[-1] is None:
        indices.pop()
    return [s.tensor(sizes), indices]


def bucketize(s, row):
    return [s.tensor(s.sizes()), torch.tensor([0.1, 0.5]), {"out_int32": s.chance(0.5)}]


SAMPLERS = {
    "embedding_type": embedding,
    "index_select_type": index_select,
    "gather_type": gather,
    "index_type": index,
    "bucketize_type": bucketize,
}
