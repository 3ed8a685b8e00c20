"""Attention written by hand, as models have it: compiled to the attention kernel, and right."""

import math

import pytest
import torch
from compiling import Compiled, assert_close, plan_steps
from torch import nn

BATCH, LENGTH, WIDTH, HEADS = 2, 9, 32, 4
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def tokens(dtype):
    return torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(4)).to(dtype)


class Spelled(nn.Module):
    """Three projections, scores, whatever a model does to them, a softmax, the values."""

    def __init__(self, change_scores, scale=True, softmax_dtype=None):
        super().__init__()
        torch.manual_seed(3)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.bias = nn.Parameter(torch.randn(1, HEADS, LENGTH, LENGTH))
        self.register_buffer(
            "tril", torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()[None, None]
        )
        self.change_scores, self.scale, self.softmax_dtype = change_scores, scale, softmax_dtype

    def _heads(self, x):
        return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)

    def forward(self, x, *masks):
        query, key, value = (self._heads(p(x)) for p in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2)
        if self.scale:
            scores = scores / math.sqrt(query.shape[-1])
        scores = self.change_scores(self, scores, *masks)
        weights = torch.softmax(scores, dim=-1, dtype=self.softmax_dtype).to(x.dtype)
        return self.out((weights @ value).transpose(1, 2).reshape(x.shape))


def added_mask(dtype, lowest):
    """0 at tokens, lowest at padding: [batch, 1, 1, length]."""
    mask = torch.zeros(BATCH, 1, 1, LENGTH, dtype=dtype)
    mask[1, ..., 5:] = lowest
    return mask


FORMS = {
    "bert": lambda m, s, mask: s + mask,
    "t5": lambda m, s, mask: s + (m.bias + mask),
    "two biases": lambda m, s, mask: (s + m.bias) + mask,
    "gpt2": lambda m, s, mask: torch.where(m.tril, s, torch.finfo(s.dtype).min) + mask,
    "masked_fill": lambda m, s, mask: s.masked_fill(mask < 0, -torch.inf),
}


def _compare(model, *inputs, use_aot):
    compiled = Compiled(model, use_aot=use_aot)
    result = compiled(*inputs)
    compiled.assert_whole()
    assert_close(result, model(*inputs))
    return plan_steps(model, *inputs, use_aot=use_aot)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_forms(form, dtype):
    in_float32 = torch.float32 if form in ("t5", "gpt2") else None
    model = Spelled(FORMS[form], scale=form != "t5", softmax_dtype=in_float32)
    model = model.to(dtype).eval().requires_grad_(False)
    mask = added_mask(dtype, torch.finfo(dtype).min)
    steps = _compare(model, tokens(dtype), mask, use_aot=len(form) % 2 == 0)
    # float16's lowest number is not low enough to swallow what is added to it: that stays as it is.
    fused = form != "gpt2" or dtype != torch.float16
    assert steps.count("unfuse.attention") == (1 if fused else 0)
    assert steps.count("aten.matmul.default") == (0 if fused else 2)
    assert steps.count("aten.linear.default") + steps.count("unfuse.linear") == 2


LOWEST = torch.finfo(torch.float32).min
#: Masks over masks, where the padding hides the first keys: rows of causal attention then see none,
#: and what each fill and sum was counts. `pad` is true where a key is hidden, of all keys in row 1.
JOINED = {
    "one fill twice": lambda m, s, pad: s.masked_fill(pad, -1e9).masked_fill(pad, -1e9),
    "two fills": lambda m, s, pad: s.masked_fill(~m.tril, -1e9).masked_fill(pad, -1e9),
    "two lowest": lambda m, s, pad: s.masked_fill(~m.tril, LOWEST).masked_fill(pad, LOWEST),
    "lowest and sum": lambda m, s, pad: s.masked_fill(~m.tril, LOWEST) + pad * LOWEST,
    "sum and lowest": lambda m, s, pad: (s + pad * LOWEST).masked_fill(~m.tril, LOWEST),
    "inf under fill": lambda m, s, pad: s.masked_fill(~m.tril, -torch.inf).masked_fill(pad, -1e9),
    "fill under inf": lambda m, s, pad: s.masked_fill(pad, -1e9).masked_fill(~m.tril, -torch.inf),
    "fill under sum": lambda m, s, pad: s.masked_fill(pad, -1e9) + ~m.tril * -1e4,
    "sum under fill": lambda m, s, pad: (s + ~m.tril * -1e9).masked_fill(pad, -1e9),
    "two numbers": lambda m, s, pad: s.masked_fill(pad, -1e9).masked_fill(~m.tril, -1e30),
    "inf under sum": lambda m, s, pad: s.masked_fill(~m.tril, -torch.inf) + m.bias,
    "where": lambda m, s, pad: torch.where(pad, -1e9, torch.where(m.tril, s, -torch.inf)),
}


def hidden_keys():
    pad = torch.zeros(BATCH, 1, 1, LENGTH, dtype=torch.bool)
    pad[0, ..., :3] = True
    pad[1] = True
    return pad


@pytest.mark.parametrize("name", JOINED)
def test_masks_over_masks(name, use_aot):
    model = Spelled(JOINED[name]).eval().requires_grad_(False)
    _compare(model, tokens(torch.float32), hidden_keys(), use_aot=use_aot)


@pytest.mark.parametrize("form", ["bert", "masked_fill"])
def test_rows_whose_keys_are_all_masked(form, use_aot):
    # NaN where -inf is filled in; the lowest number everywhere lets every key count alike.
    model = Spelled(FORMS[form]).eval().requires_grad_(False)
    mask = added_mask(torch.float32, torch.finfo(torch.float32).min)
    mask[0] = torch.finfo(torch.float32).min
    x = tokens(torch.float32)
    assert torch.isnan(model(x, mask)[0]).all() == (form == "masked_fill")
    assert _compare(model, x, mask, use_aot=use_aot).count("unfuse.attention") == 1


class WithoutWeights(nn.Module):
    """nn.MultiheadAttention that computes weights which nobody reads."""

    def __init__(self, masked):
        super().__init__()
        torch.manual_seed(3)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.masked = masked

    def forward(self, x):
        mask = torch.ones(LENGTH, LENGTH).tril().log() if self.masked else None
        return self.attention(self.query(x), x, x, need_weights=True, attn_mask=mask)[0]


@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_whose_weights_nobody_reads(masked, use_aot):
    model = WithoutWeights(masked).eval().requires_grad_(False)
    steps = _compare(model, tokens(torch.float32), use_aot=use_aot)
    assert steps.count("unfuse.attention") == 1
