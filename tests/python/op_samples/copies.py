"""Arguments of ops that copy."""

from __future__ import annotations

import torch

from .sampler import ALL, FORMATS


def clone(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes, ALL), {"memory_format": s.rng.choice(FORMATS)}]


def contiguous(s, row):
    sizes = s.sizes()
    format = s.rng.choice([torch.contiguous_format, torch.channels_last])
    return [s.tensor(sizes, ALL), {"memory_format": format}]


def to_copy(s, row):
    return [
        s.tensor(s.sizes(), ALL),
        {"dtype": s.dtype_or_none(ALL), "memory_format": s.rng.choice(FORMATS)},
    ]


def to_dtype(s, row):
    return [
        s.tensor(s.sizes(), ALL),
        s.rng.choice(ALL),
        False,
        s.chance(0.3),
        s.rng.choice(FORMATS),
    ]


def to_device(s, row):
    return [s.tensor(s.sizes(), ALL), torch.device("cpu"), s.rng.choice(ALL), False, s.chance(0.3)]


def to_layout(s, row):
    return [s.tensor(s.sizes(), ALL), {"dtype": s.dtype_or_none(ALL), "copy": s.chance(0.3)}]


def to_other(s, row):
    return [s.tensor(s.sizes(), ALL), s.tensor([2], ALL)]


def copies(s, row):
    """Everything whose result is like its first argument."""
    name = row.name.split(".")[1].removesuffix("_")
    sizes = s.sizes(1, 4)
    self = s.tensor(sizes)
    like = [self.dtype]
    at = s.dim(len(sizes))
    if name == "copy":
        return [self, s.tensor(s.shrunk(sizes), ALL)]
    if name == "slice_scatter":
        start = s.rng.randint(0, sizes[at])
        return [
            self,
            s.tensor(
                [*sizes[: at % len(sizes)], sizes[at] - start, *sizes[at % len(sizes) + 1 :]], like
            ),
            at,
            start,
        ]
    if name == "select_scatter":
        if sizes[at] == 0:
            return None
        rest = list(sizes)
        del rest[at]
        return [self, s.tensor(rest, like), at, 0]
    if name == "diagonal_scatter":
        square = s.tensor([3, 3])
        return [square, s.tensor([3], [square.dtype])]
    if name in ("tril", "triu"):
        return [s.tensor(s.sizes(2, 4))]
    if name == "roll":
        return [self, [1], [at]]
    if name == "flip":
        return [self, [at]]
    if name in ("fliplr", "flipud"):
        return [s.tensor(s.sizes(2, 3))]
    if name == "fill":
        return [self, s.tensor([]) if row.name.endswith("Tensor") else 0.5]
    if name == "masked_scatter":
        return [self, s.tensor(sizes, [torch.bool]), s.tensor(sizes, like, strided=False)]
    if name in ("index_put", "_unsafe_index_put"):
        if 0 in sizes:
            return None
        return [self, [torch.zeros(2, dtype=torch.int64)], s.tensor([1], like)]
    if name.startswith("scatter"):
        index = torch.zeros([1] * len(sizes), dtype=torch.int64)
        if 0 in sizes:
            return None
        source = 0.5 if row.name.endswith("value") else s.tensor([1] * len(sizes), like)
        return [self, at, index, source, *(["sum"] if row.name.endswith("two") else [])]
    if name in ("index_add", "index_copy", "index_fill"):
        if 0 in sizes:
            return None
        index = torch.zeros(1, dtype=torch.int64)
        source = list(sizes)
        source[at] = 1
        return [self, at, index, 0.5 if name == "index_fill" else s.tensor(source, like)]
    return [self]


def repeat(s, row):
    sizes = s.sizes(0, 3)
    extra_dims = s.rng.randint(0, 2)
    return [s.tensor(sizes), [s.rng.randint(0, 3) for _ in range(len(sizes) + extra_dims)]]


def cat(s, row):
    sizes = s.sizes(1, 4)
    at = s.dim(len(sizes))
    tensors = []
    for _ in range(s.rng.randint(1, 3)):
        sizes[at] = s.rng.randint(0, 3)
        tensors.append(s.tensor(sizes, ALL))
    if s.chance(0.1):
        tensors.append(torch.empty(0))
    return [tensors, at]


def stack(s, row):
    sizes = s.sizes(0, 3)
    return [[s.tensor(sizes, ALL) for _ in range(s.rng.randint(1, 3))], s.dim(len(sizes) + 1)]


def pad(s, row):
    sizes = s.sizes(1, 4)
    count = s.rng.randint(1, len(sizes))
    return [s.tensor(sizes), [s.rng.randint(0, 2) for _ in range(2 * count)]]


def repeat_interleave(s, row):
    sizes = s.sizes(1, 3)
    return [s.tensor(sizes), s.rng.randint(0, 3), s.rng.choice([None, s.dim(len(sizes))])]


SAMPLERS = {
    "clone_type": clone,
    "contiguous_type": contiguous,
    "to_copy_type": to_copy,
    "to_dtype_type": to_dtype,
    "to_device_type": to_device,
    "to_layout_type": to_layout,
    "to_other_type": to_other,
    "type_as_type": to_other,
    "preserving_copy_type": copies,
    "contiguous_copy_type": copies,
    "repeat_type": repeat,
    "cat_type": cat,
    "stack_type": stack,
    "pad_type": pad,
    "repeat_interleave_type": repeat_interleave,
}
