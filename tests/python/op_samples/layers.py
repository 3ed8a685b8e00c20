"""Arguments of products, norms, convolutions and other layers."""

from __future__ import annotations

import re

import torch

from .sampler import ALL, FLOATS, fill


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
    """Batch dimensions broadcast as those of products do: each of the three may lack some."""
    length, source, size = s.size(), s.size(), 4
    batch = s.sizes(0, 2)
    heads = s.rng.choice([2, 4])
    grouped = s.chance(0.3)
    share = lambda: s.rng.choice([h for h in (1, 2, heads) if heads % h == 0])
    if grouped:
        queries = [*s.shrunk(batch), heads]
        keys, values = [*s.shrunk(batch), share()], [*s.shrunk(batch), share()]
    elif s.chance(0.5):
        queries = keys = values = [*batch, heads]
    else:
        queries, keys, values = (s.shrunk([*batch, heads]) for _ in range(3))
    mask = s.rng.choice([None, "bool", "float"])
    if mask is not None:
        shape = s.shrunk([*batch, heads, length, source])
        dtypes = [torch.bool] if mask == "bool" else [torch.float32]
        mask = s.tensor(shape, dtypes, strided=False)
    make = lambda batch, rows, columns: s.tensor([*batch, rows, columns], [torch.float32])
    value_size = s.rng.choice([size, size, 3])
    return [
        make(queries, length, size),
        make(keys, source, size),
        make(values, source, value_size),
        mask,
        {"enable_gqa": grouped, "is_causal": mask is None and s.chance(0.3)},
    ]


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
    image = s.tensor(
        [*lead, *[s.rng.randint(5, 9) for _ in range(count)]], [torch.float32], strided=False
    )
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
    image = s.tensor(
        [*lead, *[s.rng.randint(3, 6) for _ in range(count)]], [torch.float32], strided=False
    )
    return [image, [s.rng.randint(1, 3) for _ in range(count)]]


def resample(s, row):
    """Factors need not be the ratio of the sizes, but make them."""
    count = 1 if "1d" in row.name else 2
    # Antialiased images of one column come out wrong in PyTorch.
    least = 2 if "_aa" in row.name else 1
    image = s.tensor(
        [s.rng.randint(1, 2), 3, *[s.rng.randint(least, 9) for _ in range(count)]],
        FLOATS[:3],
        strided=False,
    )
    image = image.copy_(torch.rand(image.shape))
    align = [s.chance(0.2)] if "align_corners" in str(row.overload._schema) else []
    sizes = [s.rng.randint(least, 20) for _ in range(count)]
    if not s.chance(0.4):
        return [image, sizes, *align]
    factors = [(b + s.rng.random()) / a for a, b in zip(image.shape[2:], sizes, strict=True)]
    return [image, sizes, *align, *factors]


def native_dropout(s, row):
    # Without elements, and without training, the mask is left a float.
    return [s.tensor([max(size, 1) for size in s.sizes()]), 0.5, s.chance(0.5)]


SAMPLERS = {
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
    "resample_type": resample,
}
