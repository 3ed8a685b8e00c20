"""Random calls of the ops that have a result-type rule, and what real PyTorch makes of them.

The catalogue's rows name a rule each; ops of one rule take alike arguments, so that a sampler serves
a rule, not an op. A sample is a list of arguments in schema order (defaults may be left out at the
end); tensors are real, small and strided in every way that eager produces.
"""

from __future__ import annotations

import math
import pathlib
import random
import re
import warnings
from dataclasses import dataclass

import torch

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ALL = FLOATS + INTEGERS + [torch.bool]


@dataclass
class Row:
    """A row of src/ops/<family>.cc."""

    name: str
    schema: str
    rule: str | None
    traits: str
    family: str

    @property
    def overload(self):
        _, packet, overload = self.name.split(".")
        return getattr(getattr(torch.ops.aten, packet), overload)


def catalogue_rows() -> list[Row]:
    rows = []
    for path in sorted((REPOSITORY / "src/ops").glob("*.cc")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        if "OpInfo kRows[]" not in text:
            continue
        for body in re.findall(r'\{\s*("(?:aten|unfuse)\.[^;]*?)\},?\n(?=\s*\{|\};|\s*\n)', text):
            strings = re.findall(r'"((?:[^"\\]|\\.)*)"', body)
            rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", body)
            words = re.findall(r"\w+", rest)
            rules = [word for word in words if word.endswith("_type")]
            traits = [word for word in words if re.match(r"k[A-Z]", word)]
            rows.append(
                Row(
                    name=strings[0],
                    schema="".join(strings[1:]).replace('\\"', '"'),
                    rule=rules[0] if rules else None,
                    traits=traits[0] if traits else "",
                    family=path.stem,
                )
            )
    return rows


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


# --- Pointwise ------------------------------------------------------------------------------------


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


def unary(s, row):
    if row.name == "aten.round.decimals":
        return [s.tensor(s.sizes(), FLOATS), {"decimals": 1}]
    if row.name == "aten.prelu.default":
        self = s.tensor(s.sizes())
        return [self, s.tensor([1], [self.dtype])]
    return [s.tensor(s.sizes(), ALL), *extra(s, row, 1)]


def operand(s, row, index, sizes, dtypes=ALL):
    kind = str(row.overload._schema.arguments[index].type)
    if "Tensor" in kind:
        return s.tensor(sizes, dtypes)
    return s.number()


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
    value = s.tensor([], FLOATS) if row.name.endswith("Tensor") else s.number()
    return [s.tensor(s.shrunk(sizes), FLOATS), s.tensor(s.shrunk(sizes), [torch.bool]), value]


def gated(s, row):
    sizes = s.sizes(1, 4)
    at = s.dim(len(sizes))
    sizes[at] *= 2
    return [s.tensor(sizes), at]


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


# --- Views and copies -----------------------------------------------------------------------------


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
    return [s.tensor(s.sizes(), [torch.float32, torch.int32]), s.rng.choice([torch.int32, torch.float32])]


def transpose(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes, ALL), s.dim(len(sizes)), s.dim(len(sizes))]


def t(s, row):
    return [s.tensor(s.sizes(0, 2), ALL)]


def matrix(s, row):
    return [s.tensor(s.sizes(2, 4), ALL)]


def plain(s, row):
    return [s.tensor(s.sizes(), ALL)]


def permute(s, row):
    sizes = s.sizes()
    order = list(range(len(sizes)))
    s.rng.shuffle(order)
    return [s.tensor(sizes), [d - len(sizes) if s.chance(0.3) else d for d in order]]


def move_dimension(s, row):
    sizes = s.sizes(1, 4)
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
    return [tensors, *([{"indexing": s.rng.choice(["ij", "xy"])}] if "indexing" in row.name else [])]


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
    return [s.tensor(sizes), at, bound(s, sizes[at]), bound(s, sizes[at]), s.rng.choice([1, 1, 2, 3])]


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
    return [fill(torch.empty(64)), [2, 3], [s.rng.randint(0, 4), s.rng.randint(0, 4)],
            s.rng.choice([None, 3])]


def reshape_alias(s, row):
    return [fill(torch.empty(4, 6)), [4, 2, 3], [6, 3, 1]]


def diagonal(s, row):
    sizes = s.sizes(2, 4)
    first, second = s.rng.sample(range(len(sizes)), 2)
    return [s.tensor(sizes), s.rng.randint(-3, 3), first, second]


def unfold(s, row):
    sizes = s.sizes(1, 3)
    at = s.dim(len(sizes))
    return [s.tensor(sizes), at, s.rng.randint(0, sizes[at]), s.rng.randint(1, 3)]


FORMATS = [None, torch.contiguous_format, torch.preserve_format, torch.channels_last]


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
    return [s.tensor(s.sizes(), ALL), s.rng.choice(ALL), False, s.chance(0.3), s.rng.choice(FORMATS)]


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
        return [self, s.tensor([*sizes[: at % len(sizes)], sizes[at] - start,
                                *sizes[at % len(sizes) + 1 :]], like), at, start]
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


# --- Creation -------------------------------------------------------------------------------------


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


# --- Reductions and scans -------------------------------------------------------------------------


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
    sizes = [max(size, 1) for size in s.sizes(1, 3)]
    at = s.dim(len(sizes))
    return [s.tensor(sizes), s.rng.randint(1, sizes[at]), at]


# --- Products and layers --------------------------------------------------------------------------


def linear(s, row):
    sizes = s.sizes(1, 4)
    outputs = s.rng.randint(1, 4)
    dtype = [s.rng.choice(FLOATS)]
    bias = s.tensor([outputs], dtype) if s.chance(0.5) else None
    return [s.tensor(sizes, dtype), s.tensor([outputs, sizes[-1]], dtype), bias]


def mm(s, row):
    n, k, m = s.size(), s.size(), s.size()
    dtype = [s.rng.choice(FLOATS)]
    return [s.tensor([n, k], dtype), s.tensor([k, m], dtype)]


def bmm(s, row):
    batch, n, k, m = s.size(), s.size(), s.size(), s.size()
    dtype = [s.rng.choice(FLOATS)]
    return [s.tensor([batch, n, k], dtype), s.tensor([batch, k, m], dtype)]


def added(product):
    def sample(s, row):
        left, right = product(s, row)
        sizes = [*left.shape[:-1], right.shape[-1]]
        return [s.tensor(s.shrunk(sizes), [left.dtype]), left, right]

    return sample


def matmul(s, row):
    dtype = [s.rng.choice(FLOATS)]
    k = s.size()
    batch = s.sizes(0, 2)
    left = s.rng.choice([[k], [s.size(), k], [*s.shrunk(batch), s.size(), k]])
    right = s.rng.choice([[k], [k, s.size()], [*s.shrunk(batch), k, s.size()]])
    return [s.tensor(left, dtype), s.tensor(right, dtype)]


def vectors(s, row):
    n = s.size()
    dtype = [s.rng.choice(FLOATS)]
    return [s.tensor([n], dtype), s.tensor([n], dtype)]


def mv(s, row):
    n, m = s.size(), s.size()
    return [s.tensor([n, m], [torch.float32]), s.tensor([m], [torch.float32])]


def outer(s, row):
    return [s.tensor([s.size()], ALL), s.tensor([s.size()], ALL)]


def sdpa(s, row):
    batch, heads, length, source, size = s.size(), s.rng.choice([2, 4]), s.size(), s.size(), 4
    grouped = s.chance(0.3)
    key_heads = 2 if grouped else heads
    mask = s.rng.choice([None, "bool", "float"])
    if mask is not None:
        shape = s.shrunk([batch, heads, length, source])
        dtypes = [torch.bool] if mask == "bool" else [torch.float32]
        mask = s.tensor(shape, dtypes, strided=False)
    make = lambda h, l: s.tensor([batch, h, l, size], [torch.float32])
    return [make(heads, length), make(key_heads, source), make(key_heads, source), mask,
            {"enable_gqa": grouped}]


def layer_norm(s, row):
    sizes = s.sizes(1, 4)
    count = s.rng.randint(1, len(sizes))
    dtype = s.rng.choice([torch.float32, torch.bfloat16])
    weight_dtype = s.rng.choice([dtype, torch.float32])
    weight = s.tensor(sizes[-count:], [weight_dtype]) if s.chance(0.6) else None
    bias = s.tensor(sizes[-count:], [weight_dtype]) if weight is not None else None
    rest = [1e-5] if "native" in row.name else []
    return [s.tensor(sizes, [dtype]), sizes[-count:], weight, bias, *rest]


def normalized(s, row):
    name = row.name.split(".")[1]
    channels = 4
    image = s.tensor([s.size(), channels, s.size(), s.size()], [torch.float32], strided=False)
    parameter = lambda: fill(torch.empty(channels))
    if name == "group_norm":
        return [image, 2, parameter(), parameter()]
    if name == "rms_norm":
        return [image, [image.shape[-1]]]
    running = [parameter(), parameter(), parameter(), parameter()]
    return [image, *running, name == "instance_norm", 0.1, 1e-5, False]


def native_batch_norm(s, row):
    image = s.tensor([s.size(), 3, s.size(), s.size()], [torch.float32], strided=False)
    return [image, *[fill(torch.empty(3)) for _ in range(4)], 0.1, 1e-5]


def native_group_norm(s, row):
    image = s.tensor([2, 4, 3, s.size()], [torch.float32, torch.bfloat16], strided=False)
    weight = fill(torch.empty(4, dtype=s.rng.choice([torch.float32, image.dtype])))
    return [image, weight, weight.clone(), 2, 4, 3 * image.shape[-1], 2, 1e-5]


def softmax(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes), s.dim(len(sizes)), s.rng.choice([None, torch.float32, torch.float64])]


def plain_softmax(s, row):
    sizes = s.sizes()
    return [s.tensor(sizes), s.dim(len(sizes)), False]


def spatial_count(row) -> int:
    return int(re.search(r"(\d)d", row.name).group(1)) if re.search(r"(\d)d", row.name) else 2


def conv(s, row):
    count = spatial_count(row)
    groups = s.rng.choice([1, 2])
    kernel = [s.rng.randint(1, 3) for _ in range(count)]
    input_ = fill(torch.empty([2, 4, *[s.rng.randint(5, 8) for _ in range(count)]]))
    weight = fill(torch.empty([6, 4 // groups, *kernel]))
    bias = fill(torch.empty(6)) if s.chance(0.5) else None
    stride = [s.rng.randint(1, 3) for _ in range(count)]
    dilation = [s.rng.randint(1, 2) for _ in range(count)]
    padding = [s.rng.randint(0, 2) for _ in range(count)]
    if row.name.endswith("padding"):
        padding = s.rng.choice(["same", "valid"])
        stride = [1] * count if padding == "same" else stride
    if "convolution" in row.name:
        tail = [False] * 4 if row.name.startswith("aten._conv") else []
        return [input_, weight, bias, stride, padding, dilation, False, [0] * count, groups, *tail]
    return [input_, weight, bias, stride, padding, dilation, groups]


def pool(s, row):
    count = spatial_count(row)
    lead = s.rng.choice([[3], [2, 3]])
    image = s.tensor([*lead, *[s.rng.randint(5, 9) for _ in range(count)]], [torch.float32],
                     strided=False)
    kernel = [s.rng.randint(2, 3) for _ in range(count)]
    stride = s.rng.choice([[], [s.rng.randint(1, 3) for _ in range(count)]])
    padding = [s.rng.randint(0, 1) for _ in range(count)]
    ceil = s.chance(0.4)
    if "avg" in row.name:
        return [image, kernel, stride, padding, ceil]
    dilation = [s.rng.randint(1, 2) for _ in range(count)]
    return [image, kernel, stride, padding, dilation, ceil]


def adaptive_pool(s, row):
    count = spatial_count(row)
    lead = s.rng.choice([[3], [2, 3]])
    image = s.tensor([*lead, *[s.rng.randint(3, 6) for _ in range(count)]], [torch.float32],
                     strided=False)
    return [image, [s.rng.randint(1, 3) for _ in range(count)]]


def native_dropout(s, row):
    # Without elements, and without training, the mask is left a float.
    return [s.tensor([max(size, 1) for size in s.sizes()]), 0.5, s.chance(0.5)]


# --- Indexing -------------------------------------------------------------------------------------


def index_tensor(s, sizes, limit):
    count = math.prod(sizes)
    return torch.tensor([s.rng.randint(0, limit - 1) for _ in range(count)],
                        dtype=torch.int64).reshape(sizes)


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
    return [s.tensor(sizes), at, index_tensor(s, [s.rng.randint(1, size) for size in sizes], sizes[at])]


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


IN_PLACE_PRODUCTS = {
    "aten.addbmm_.default": bmm,
    "aten.addmm_.default": mm,
    "aten.addmv_.default": mv,
    "aten.baddbmm_.default": bmm,
}

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
    "unchanged_type": in_place,
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
    "sort_type": dim_only,
    "argsort_type": dim_only,
    "topk_type": topk,
    "linear_type": linear,
    "mm_type": mm,
    "bmm_type": bmm,
    "addmm_type": added(mm),
    "baddbmm_type": added(bmm),
    "matmul_type": matmul,
    "dot_type": vectors,
    "mv_type": mv,
    "outer_type": outer,
    "scaled_dot_product_attention_type": sdpa,
    "layer_norm_type": layer_norm,
    "native_layer_norm_type": layer_norm,
    "normalized_type": normalized,
    "native_batch_norm_type": native_batch_norm,
    "native_group_norm_type": native_group_norm,
    "softmax_type": softmax,
    "plain_softmax_type": plain_softmax,
    "native_dropout_type": native_dropout,
    "conv_type": conv,
    "conv_padding_type": conv,
    "convolution_type": conv,
    "max_pool_type": pool,
    "max_pool_with_indices_type": pool,
    "avg_pool_type": pool,
    "adaptive_pool_type": adaptive_pool,
    "embedding_type": embedding,
    "index_select_type": index_select,
    "gather_type": gather,
    "index_type": index,
    "bucketize_type": bucketize,
}


@dataclass
class Sample:
    """A call that PyTorch took, and the tensors it gave."""

    op: str
    arguments: list
    keywords: dict
    results: list


def draw_call(row: Row, rng: random.Random) -> tuple[list, dict] | None:
    """Positional and keyword arguments; PyTorch may yet refuse them. None when nothing was drawn."""
    drawn = SAMPLERS[row.rule](Sampler(rng), row)
    if drawn is None:
        return None
    keywords = drawn.pop() if drawn and isinstance(drawn[-1], dict) else {}
    given = {k: v for k, v in keywords.items() if v is not None or k == "rounding_mode"}
    return drawn, given


def run(row: Row, arguments: list, keywords: dict) -> list | None:
    """What PyTorch gives, as a list; None when it refuses."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = row.overload(*arguments, **keywords)
    except (RuntimeError, IndexError, NotImplementedError, TypeError, ValueError):
        return None
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


def draw(row: Row, rng: random.Random) -> Sample | None:
    """The types of one call, or None when PyTorch refuses what was drawn."""
    call = draw_call(row, rng)
    if call is None:
        return None
    arguments, keywords = call
    # Described before the call: ops in place may change them.
    described = describe(arguments)
    results = run(row, arguments, keywords)
    if results is None:
        return None
    return Sample(
        op=row.name,
        arguments=described,
        keywords={name: describe(value) for name, value in keywords.items()},
        results=describe(results),
    )


def describe(value):
    """A JSON form: tensors as their types, everything else as it is or tagged."""
    if isinstance(value, torch.Tensor):
        return {
            "tensor": str(value.dtype).removeprefix("torch."),
            "sizes": list(value.shape),
            "strides": list(value.stride()),
            "offset": value.storage_offset(),
        }
    if isinstance(value, (list, tuple)):
        return [describe(element) for element in value]
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.memory_format):
        return {"format": str(value).removeprefix("torch.")}
    return value
