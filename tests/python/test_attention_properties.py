"""Attention against float64, with shapes, strides, masks and magnitudes drawn at random.

One program for each form, all of its sizes symbolic; an example is a plan and a run.
"""

import functools

import pytest
import torch
import torch.nn.functional as F
import unfuse
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim

EPSILON = torch.finfo(torch.float32).eps


class DotProduct(nn.Module):
    def __init__(self, causal=False, grouped=False):
        super().__init__()
        self.options = {"is_causal": causal, "enable_gqa": grouped}

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **self.options)


FORMS = {
    "plain": {},
    "causal": {"causal": True},
    "grouped": {"grouped": True},
    "bool": {},
    "additive": {},
}


@functools.cache
def program(form, folder):
    model = DotProduct(**FORMS[form])
    heads = 6 if form == "grouped" else 3
    inputs = [torch.randn(2, heads, 5, 16), *torch.randn(2, 2, 3, 7, 16)]
    automatic = dict.fromkeys(range(4), Dim.AUTO)
    if form == "causal":
        inputs[1:] = torch.randn(2, 2, 3, 5, 16)
    if form in ("bool", "additive"):
        mask = torch.randn(2, 3, 5, 7)
        inputs.append(mask > 0 if form == "bool" else mask)
    exported = torch.export.export(model, tuple(inputs), dynamic_shapes=(automatic,) * len(inputs))
    path = folder / f"{form}.pt2"
    torch.export.save(exported, path)
    return unfuse.load(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("attention")


def laid_out(draw, tensor):
    """The same elements: in order, as projections leave them, or with gaps between them."""
    layout = draw(st.sampled_from(["contiguous", "heads inside", "gaps", "keys inside"]))
    if layout == "heads inside":
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "keys inside":
        return tensor.mT.contiguous().mT
    if layout == "gaps":
        return F.pad(tensor, (0, 3, 0, 1))[:, :, : tensor.shape[2], : tensor.shape[3]]
    return tensor


def draw_mask(draw, form, sizes, generator):
    """Broadcast over any of batch, heads and queries; one key at least is seen by each query, for
    what a row without any gives is not agreed on."""
    broadcast = [1 if size > 1 and draw(st.booleans()) else size for size in sizes[:-1]]
    shape = (*broadcast, sizes[-1])
    seen = torch.rand(shape, generator=generator) < draw(st.sampled_from([0.02, 0.5, 0.95]))
    first = draw(st.integers(0, sizes[-1] - 1))
    pattern = draw(st.sampled_from(["anywhere", "left", "right", "one"]))
    keys = torch.arange(sizes[-1])
    if pattern == "left":
        seen = (keys <= first).expand(shape)
    if pattern == "right":
        seen = (keys >= first).expand(shape)
    if pattern == "one":
        seen = torch.zeros(shape, dtype=torch.bool)
    seen = seen | (keys == first)
    if form == "bool":
        return seen.expand(sizes)
    added = torch.randn(shape, generator=generator) * draw(st.sampled_from([0.0, 1.0, 30.0]))
    hidden = draw(st.sampled_from([-torch.inf, torch.finfo(torch.float32).min, -1e4]))
    return torch.where(seen, added, hidden).expand(sizes)


@st.composite
def examples(draw, form):
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    batch, kv_heads = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    length = draw(st.one_of(st.integers(1, 20), st.integers(21, 300)))
    keys = length if form == "causal" else draw(st.one_of(st.integers(1, 40), st.integers(41, 700)))
    width = draw(st.one_of(st.sampled_from([16, 32, 64, 128, 256]), st.integers(1, 100)))
    heads = kv_heads * (2 if form == "grouped" else 1)
    scale = draw(st.sampled_from([1e-3, 1.0, 1.0, 8.0]))
    q = scale * torch.randn(batch, heads, length, width, generator=generator)
    k, v = torch.randn(2, batch, kv_heads, keys, width, generator=generator)
    if draw(st.booleans()):
        k[:] = k[:, :, :1]  # all scores of a row are equal
    inputs = [laid_out(draw, tensor) for tensor in (q, k, v)]
    if form in ("bool", "additive"):
        inputs.append(draw_mask(draw, form, (batch, heads, length, keys), generator))
    return inputs


def error_bound(q, k, v, mask=None):
    """Of one output, from float32 scores and sums: a score is a sum of products, whose rounding
    errors add up like a random walk; exp() makes them relative errors of weights, and a result is a
    mean of values with such weights."""
    scale = q.shape[-1] ** -0.5
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    products = scale * q.norm(dim=-1).amax() * k.norm(dim=-1).amax()
    if mask is not None and mask.is_floating_point():
        products = products + mask.where(mask > -9e3, 0).abs().amax()
    return EPSILON * (8 + 2 * products) * v.abs().amax()


@pytest.mark.parametrize("form", list(FORMS))
def test_against_float64(form, folder):
    run = program(form, folder)
    model = DotProduct(**FORMS[form])

    @settings(max_examples=80, deadline=None, derandomize=True)
    @given(examples(form))
    def check(inputs):
        wide = [x.double() if x.is_floating_point() else x for x in inputs]
        expected = model(*wide)
        worst = (run(*inputs).double() - expected).abs().amax()
        assert worst <= error_bound(*wide)

    check()
