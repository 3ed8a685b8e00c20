"""Six layers of nn.TransformerEncoder at many lengths; attention alone; an encoder that pools."""

from __future__ import annotations

import functools

import models
import torch
from torch import Tensor, nn

from .case import Case, Stack, Work, Workload, item_bytes, short_name

STACK = Stack(layers=6, width=512, feedforward=2048, heads=8)
LENGTHS = (16, 128, 512, 1024, 1500, 2048, 4096, 8192, 15000)
SHAPES = ((8, 128), *((1, length) for length in LENGTHS))
MASKS = ("none", "causal", "padding")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)

_QUICK = {
    (8, 128, torch.float32, "none"),
    (1, 1024, torch.float32, "none"),
    (1, 1024, torch.float32, "padding"),
    (1, 512, torch.bfloat16, "none"),
}
#: Where peaks of memory are compared.
_MEMORY_LENGTHS = (16, 4096, 15000)


class CausalEncoder(nn.Module):
    """nn.TransformerEncoder as models without an encoder call it: with the square mask, and the
    hint that it is causal."""

    def __init__(self, encoder: nn.TransformerEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.encoder(x, mask=mask, is_causal=True)


class PaddedEncoder(nn.Module):
    def __init__(self, encoder: nn.TransformerEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        return self.encoder(x, src_key_padding_mask=padding)


class PooledEncoder(nn.Module):
    """Ends in the mean over the real tokens: padded rows cannot reach its result."""

    def __init__(self, encoder: nn.TransformerEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        tokens = self.encoder(x, src_key_padding_mask=padding)
        real = (~padding)[:, :, None].to(tokens.dtype)
        return (tokens * real).sum(dim=1) / real.sum(dim=1)


class Attention(nn.Module):
    def __init__(self, is_causal: bool) -> None:
        super().__init__()
        self.is_causal = is_causal

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=self.is_causal
        )


def real_lengths(batch: int, length: int) -> list[int]:
    """Left-aligned sequences, half of all tokens real: one of half the length, or of lengths spread
    evenly."""
    return [int(length * (i + 0.5) / batch) for i in range(batch)]


def padding_mask(batch: int, length: int) -> Tensor:
    """[batch, length], True where there is padding."""
    return torch.arange(length)[None] >= torch.tensor(real_lengths(batch, length))[:, None]


def _tokens(batch: int, length: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(batch, length, STACK.width, dtype=dtype)


def build_encoder(batch: int, length: int, dtype: torch.dtype, mask: str) -> Workload:
    encoder = models.encoder(dtype=dtype)
    x = _tokens(batch, length, dtype)
    if mask == "none":
        return Workload(encoder, (x,), ((1,),))
    if mask == "causal":
        square = torch.ones(length, length, dtype=torch.bool).triu(1)
        return Workload(CausalEncoder(encoder), (x, square), ((1,), (0, 1)))
    padding = padding_mask(batch, length)
    return Workload(PaddedEncoder(encoder), (x, padding), ((1,), (1,)), real_rows=~padding)


def build_pooled(batch: int, length: int, mask: str) -> Workload:
    padding = padding_mask(batch, length)
    if mask == "none":
        padding = torch.zeros_like(padding)
    inputs = (_tokens(batch, length, torch.float32), padding)
    return Workload(PooledEncoder(models.encoder()), inputs, ((1,), (1,)))


def build_attention(length: int, mask: str) -> Workload:
    torch.manual_seed(0)
    inputs = tuple(torch.randn(1, STACK.heads, length, 64) for _ in range(3))
    return Workload(Attention(mask == "causal").eval(), inputs, ((2,),) * 3)


def _rows_and_pairs(batch: int, length: int, mask: str) -> tuple[int, int]:
    if mask == "padding":
        real = real_lengths(batch, length)
        return sum(real), sum(n * n for n in real)
    pairs = length * (length + 1) // 2 if mask == "causal" else length * length
    return batch * length, batch * pairs


def _work(batch: int, length: int, dtype: torch.dtype, mask: str) -> Work:
    size = item_bytes(dtype)
    io_bytes = 2 * batch * length * STACK.width * size
    return Work(
        flops=STACK.flops(*_rows_and_pairs(batch, length, mask)),
        bytes=STACK.parameters() * size + io_bytes,
        io_bytes=io_bytes + (length * length if mask == "causal" else 0),
        score_bytes=batch * STACK.heads * length * length * size,
    )


def _rank(batch: int, length: int, dtype: torch.dtype, mask: str) -> int:
    """What is asked of float32 without a mask comes first, then masks, then 16 bit."""
    is_float32 = dtype == torch.float32
    if is_float32 and mask == "none":
        return 1 if length > 4096 else 0
    if length > 4096:
        return 5 if is_float32 else 6
    if is_float32:
        return 2
    return 3 if mask == "none" else 4


def _encoder_case(batch: int, length: int, dtype: torch.dtype, mask: str) -> Case:
    family = f"encoder-{batch}-{short_name(dtype)}-{mask}"
    is_plain = batch == 1 and dtype == torch.float32 and mask == "none"
    return Case(
        name=f"encoder/{batch}x{length}/{short_name(dtype)}/{mask}",
        build=functools.partial(build_encoder, batch, length, dtype, mask),
        work=_work(batch, length, dtype, mask),
        family=family,
        dtype=dtype,
        batch=batch,
        length=length,
        mask=mask,
        rank=_rank(batch, length, dtype, mask),
        quick=(batch, length, dtype, mask) in _QUICK,
        fresh=is_plain and length in _MEMORY_LENGTHS,
    )


def _pooled_case(length: int, mask: str) -> Case:
    return Case(
        name=f"pooled/1x{length}/float32/{mask}",
        build=functools.partial(build_pooled, 1, length, mask),
        work=_work(1, length, torch.float32, mask),
        family="pooled",
        length=length,
        mask=mask,
        rank=2,
    )


def _attention_case(length: int, mask: str) -> Case:
    _, pairs = _rows_and_pairs(1, length, mask)
    io_bytes = 4 * length * STACK.heads * 64 * 4
    return Case(
        name=f"attention/1x{length}/float32/{mask}",
        build=functools.partial(build_attention, length, mask),
        work=Work(
            flops=4.0 * pairs * STACK.heads * 64,
            bytes=io_bytes,
            io_bytes=io_bytes,
            score_bytes=STACK.heads * length * length * 4,
        ),
        family=f"attention-{mask}",
        length=length,
        mask=mask,
        rank=0 if length <= 4096 else 1,
        quick=length == 1024 and mask == "none",
    )


CASES = [
    *(_encoder_case(b, n, dtype, mask) for dtype in DTYPES for mask in MASKS for b, n in SHAPES),
    *(_pooled_case(1024, mask) for mask in ("none", "padding")),
    *(_attention_case(n, "none") for n in LENGTHS if n >= 1024),
    _attention_case(4096, "causal"),
]
