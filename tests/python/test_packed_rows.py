"""Padded tokens that go through nothing: what is left of them is what eager gives."""

import models
import pytest
import torch
from compiling import Compiled, assert_close, captured, plan_steps
from torch import nn

WIDTH, HEADS, LENGTH = 64, 4, 11
LENGTHS = {
    "some": [11, 4, 1, 7],
    "none": [11, 11, 11, 11],
    "one token each": [1, 1, 1, 1],
    "whole sequences": [5, 0, 11, 0],
}
PACKED = [
    "unfuse.packed_rows",
    "unfuse.pack_rows",
    "aten.linear.default",
    "unfuse.packed_attention",
    "unfuse.linear",
    "aten.layer_norm.default",
    "unfuse.linear",
    "unfuse.linear",
    "aten.layer_norm.default",
    "unfuse.unpack_rows",
]


def padding_of(lengths, length=LENGTH):
    return torch.arange(length)[None] >= torch.tensor(lengths)[:, None]


def tokens_at(padding, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    return torch.randn(*padding.shape, WIDTH, generator=generator).to(dtype)


def encoder(layers=2, **options):
    return models.encoder(layers, WIDTH, HEADS, 128, **options)


class Pooled(nn.Module):
    """The mean over the real tokens, in one of the ways that models spell it."""

    def __init__(self, encoder, how="mul"):
        super().__init__()
        self.encoder, self.how = encoder, how

    def forward(self, x, padding):
        tokens = self.encoder(x, src_key_padding_mask=padding)
        if self.how == "mul":
            real = (~padding)[:, :, None].to(tokens.dtype)
            return (tokens * real).sum(dim=1) / real.sum(dim=1)
        if self.how == "expand":
            real = (~padding).unsqueeze(-1).expand(tokens.size()).to(tokens.dtype)
            return (tokens * real).sum(1) / real.sum(1).clamp(min=1e-9)
        if self.how == "fill":
            return tokens.masked_fill(padding[:, :, None], 0.0).sum(dim=1)
        if self.how == "max":
            return tokens.masked_fill(padding[..., None], float("-inf")).amax(dim=1)
        if self.how == "where":
            return torch.where(padding[..., None], torch.ones(()), tokens).sum(1)
        assert self.how == "first"
        return tokens[:, 0]


def _packs(steps):
    return "unfuse.packed_attention" in steps


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_zero_rows(dtype, use_aot):
    model = encoder(dtype=dtype)
    compiled = Compiled(model, use_aot=use_aot, padded_rows="zero")
    for lengths in LENGTHS.values():
        padding = padding_of(lengths)
        x = tokens_at(padding, dtype)
        result = compiled(x, src_key_padding_mask=padding)
        # Eager's nested tensors refuse a sequence without tokens.
        expected = captured(model, x, src_key_padding_mask=padding)
        assert result.dtype == dtype
        assert_close(result, expected.masked_fill(padding[..., None], 0))
    compiled.assert_whole()
    assert any("go through nothing" in note for note in compiled.report.notes)


def test_zero_rows_against_nested_tensors(use_aot):
    model = encoder()
    compiled = Compiled(model, use_aot=use_aot, padded_rows="zero")
    for lengths in (LENGTHS["some"], LENGTHS["none"], [3, 2, 2, 1]):
        padding = padding_of(lengths)
        x = tokens_at(padding)
        # Eager cuts the batch to its longest sequence.
        expected = model(x, src_key_padding_mask=padding)
        result = compiled(x, src_key_padding_mask=padding)
        assert_close(result[:, : expected.shape[1]], expected)


@pytest.mark.parametrize("how", ["mul", "expand", "fill", "max", "where", "first"])
def test_pooling(how, use_aot):
    model = Pooled(encoder(enable_nested_tensor=False), how).eval()
    compiled = Compiled(model, use_aot=use_aot)
    for lengths in LENGTHS.values():
        padding = padding_of(lengths)
        x = tokens_at(padding)
        assert_close(compiled(x, padding), model(x, padding))
    compiled.assert_whole()
    assert any("go through nothing" in note for note in compiled.report.notes)


@pytest.mark.parametrize("how", ["mul", "first"])
def test_padding_anywhere(how, use_aot):
    generator = torch.Generator().manual_seed(8)
    padding = torch.rand(5, LENGTH, generator=generator) < 0.5
    model, x = Pooled(encoder(enable_nested_tensor=False), how).eval(), tokens_at(padding)
    assert padding[:, 0].any()
    assert_close(Compiled(model, use_aot=use_aot)(x, padding), model(x, padding))


def test_layers_that_norm_first(use_aot):
    padding = padding_of(LENGTHS["some"])
    model = Pooled(encoder(norm_first=True, activation="gelu")).eval()
    x = tokens_at(padding)
    assert_close(Compiled(model, use_aot=use_aot)(x, padding), model(x, padding))
    assert _packs(plan_steps(model, x, padding, use_aot=use_aot))


def test_every_step_is_packed(use_aot):
    padding = padding_of(LENGTHS["some"])
    model = Pooled(encoder(1, enable_nested_tensor=False), "fill").eval()
    steps = plan_steps(model, tokens_at(padding), padding, use_aot=use_aot)
    start = steps.index("unfuse.packed_rows")
    assert steps[start : start + len(PACKED)] == PACKED


def test_sizes_that_vary(use_aot):
    model = Pooled(encoder(enable_nested_tensor=False)).eval()
    compiled = Compiled(model, use_aot=use_aot, dynamic=True)
    for lengths, length in (([3, 5], 5), ([9, 1, 4], 9), ([2, 2], 17), ([40, 7, 33, 1], 40)):
        padding = padding_of(lengths, length)
        x = tokens_at(padding)
        assert_close(compiled(x, padding), model(x, padding))
    compiled.assert_whole()
    assert any("go through nothing" in note for note in compiled.report.notes)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_long_sequences_on_threads(threads, use_aot):
    padding = padding_of([700, 33, 512], 700)
    model, x = encoder(), tokens_at(padding)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        compiled = Compiled(model, use_aot=use_aot, padded_rows="zero")
        result = compiled(x, src_key_padding_mask=padding)
    finally:
        torch.set_num_threads(before)
    assert_close(result, model(x, src_key_padding_mask=padding))


def test_what_padding_holds_is_gone(use_aot):
    padding = padding_of(LENGTHS["some"])
    model, x = Pooled(encoder(enable_nested_tensor=False)).eval(), tokens_at(padding)
    expected = model(x, padding)
    dirty = x.masked_fill(padding[..., None], float("nan"))
    assert_close(Compiled(model, use_aot=use_aot)(dirty, padding), expected)


class PooledBert(nn.Module):
    """Its mask, 1 for a token, becomes numbers that are added to the scores."""

    def __init__(self, how):
        super().__init__()
        self.bert, self.how = models.bert_like(layers=2), how

    def forward(self, ids, mask):
        tokens, first = self.bert(ids, mask)
        if self.how == "first":
            return first
        weights = mask[:, :, None].to(tokens.dtype)
        mean = (tokens * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
        return (mean, first) if self.how == "both" else mean


@pytest.mark.parametrize("how", ["mean", "first", "both"])
def test_masks_that_are_added(how, use_aot):
    model = PooledBert(how).eval().requires_grad_(False)
    compiled = Compiled(model, use_aot=use_aot)
    ids = torch.randint(0, 20, (4, LENGTH), generator=torch.Generator().manual_seed(3))
    for lengths in LENGTHS.values():
        mask = (~padding_of(lengths)).long()
        results, expected = compiled(ids, mask), model(ids, mask)
        for one, other in zip(results, expected, strict=True):
            assert_close(one, other)
    compiled.assert_whole()
    assert any("go through nothing" in note for note in compiled.report.notes)


class ReadsPadding(Pooled):
    def forward(self, x, padding):
        tokens = self.encoder(x, src_key_padding_mask=padding)
        if self.how == "mean":
            return tokens.mean(dim=1)
        if self.how == "both":
            return tokens.masked_fill(padding[..., None], 0).sum(1), tokens
        if self.how == "last":
            return tokens[:, -1]
        assert self.how == "other mask"
        return tokens * x[:, :, :1].relu()


@pytest.mark.parametrize("how", ["mean", "both", "last"])
def test_rows_that_are_read_are_computed(how, use_aot):
    padding = padding_of(LENGTHS["some"])
    model, x = ReadsPadding(encoder(enable_nested_tensor=False), how).eval(), tokens_at(padding)
    for result, expected in zip(Compiled(model, use_aot=use_aot)(x, padding), model(x, padding)):
        assert_close(result, expected)
    assert not _packs(plan_steps(model, x, padding, use_aot=use_aot))


def test_rows_that_another_mask_wants_are_computed(use_aot):
    padding = padding_of(LENGTHS["some"])
    model = ReadsPadding(encoder(enable_nested_tensor=False), "other mask").eval()
    x = tokens_at(padding)
    assert_close(Compiled(model, use_aot=use_aot)(x, padding), model(x, padding))


class Masked(nn.Module):
    """Tokens times their mask, read in ways that are no sum over all of them."""

    def __init__(self, encoder, how):
        super().__init__()
        self.encoder, self.how = encoder, how

    def forward(self, x, padding):
        tokens = self.encoder(x, src_key_padding_mask=padding)
        tokens = tokens * (~padding)[..., None].to(tokens.dtype)
        return {"whole": lambda: tokens, "last": lambda: tokens[:, -1]}.get(
            self.how, lambda: tokens[:, 2:].sum(1)
        )()


@pytest.mark.parametrize("how", ["whole", "last", "slice"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
def test_products_with_masks(how, lengths, use_aot):
    # Sequences that are padded whole give NaN, and NaN times zero is NaN.
    model = Masked(encoder(), how)
    padding = padding_of(lengths)
    x = tokens_at(padding)
    assert_close(Compiled(model, use_aot=use_aot)(x, padding), captured(model, x, padding))


class PooledByIntegers(nn.Module):
    def __init__(self, encoder, dtype):
        super().__init__()
        self.encoder, self.dtype = encoder, dtype

    def forward(self, x, mask):
        padding = mask.to(self.dtype) == 0
        tokens = self.encoder(x, src_key_padding_mask=padding)
        return tokens.masked_fill(padding[..., None], 0.0).sum(1)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64], ids=str)
def test_masks_of_integers_that_wrap(dtype, use_aot):
    model = PooledByIntegers(encoder(), dtype)
    mask = (~padding_of([11, 4, 1, 7])).long()
    mask[0, 3:6] = 256  # 0 in eight bits
    x = tokens_at(mask)
    assert_close(Compiled(model, use_aot=use_aot)(x, mask), captured(model, x, mask))
