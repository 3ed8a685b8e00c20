"""What scaled dot product attention does on the CPU, in each of its forms."""

import math

import pytest
import torch
from attention_calls import FLOAT_MASK, FULLY_MASKED_ROW, aten, close, qkv, sdpa

flash = aten._scaled_dot_product_flash_attention_for_cpu
math_attention = aten._scaled_dot_product_attention_math


@pytest.mark.parametrize(
    "call",
    [
        lambda q, k, v: sdpa(q, k, v, FULLY_MASKED_ROW),
        lambda q, k, v: sdpa(q, k, v, FLOAT_MASK),
        lambda q, k, v: sdpa(q[0], k[0], v[0], FULLY_MASKED_ROW),
        lambda q, k, v: flash(q, k, v, attn_mask=FLOAT_MASK)[0],
        lambda q, k, v: math_attention(q, k, v, FLOAT_MASK)[0],
    ],
)
def test_a_fully_masked_row_of_sdpa_is_zero(call):
    out = call(*qkv())
    assert (out[..., 1, :] == 0).all() and not out.isnan().any()


def test_the_math_op_adds_a_bool_mask_as_zeros_and_ones():
    q, k, v = qkv()
    close(
        math_attention(q, k, v, FULLY_MASKED_ROW)[0],
        math_attention(q, k, v, FULLY_MASKED_ROW.float())[0],
    )


@pytest.mark.parametrize("queries, keys", [(3, 4), (5, 2), (1, 4)])
def test_causal_is_aligned_top_left(queries, keys):
    q, k, v = qkv(queries=queries, keys=keys)
    expected = sdpa(q, k, v, torch.ones(queries, keys, dtype=torch.bool).tril())
    for out in (
        sdpa(q, k, v, None, 0.0, True),
        flash(q, k, v, 0.0, True)[0],
        math_attention(q, k, v, None, 0.0, True)[0],
    ):
        close(out, expected)


def test_causal_and_a_mask_together_are_taken_by_the_flash_path_alone():
    q, k, v = qkv()
    both = sdpa(q, k, v, FULLY_MASKED_ROW & torch.ones(3, 4, dtype=torch.bool).tril())
    close(sdpa(q, k, v, FULLY_MASKED_ROW, 0.0, True), both)
    close(flash(q, k, v, 0.0, True, attn_mask=FLOAT_MASK)[0], both)
    for refused in (
        lambda: math_attention(q, k, v, FLOAT_MASK, 0.0, True),
        lambda: sdpa(q[0], k[0], v[0], FLOAT_MASK, 0.0, True),
    ):
        with pytest.raises(RuntimeError, match="attn_mask should not be set"):
            refused()


def test_the_flash_ops_second_result():
    q, k, v = qkv()
    scores = q @ k.transpose(-1, -2) / math.sqrt(8) + FLOAT_MASK
    expected = scores.logsumexp(-1).masked_fill(~FULLY_MASKED_ROW.any(-1), 0)
    close(flash(q, k, v, attn_mask=FLOAT_MASK)[1], expected)
    for dtype, wide in (
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float64, torch.float64),
    ):
        assert flash(*qkv(dtype=dtype))[1].dtype == wide


def test_the_math_ops_second_result_is_the_weights():
    q, k, v = qkv()
    expected = (q @ k.transpose(-1, -2) / math.sqrt(8) + FLOAT_MASK).softmax(-1).nan_to_num(0)
    close(math_attention(q, k, v, FLOAT_MASK)[1], expected)


def test_scale_may_be_anything():
    q, k, v = qkv()
    for scale in (0.3, 0.0, -0.5):
        expected = (q @ k.transpose(-1, -2) * scale).softmax(-1) @ v
        close(sdpa(q, k, v, scale=scale), expected)
        close(math_attention(q, k, v, scale=scale)[0], expected)


def test_mask_shapes():
    q, k, v = qkv()
    for shape in ((3, 1), (1, 4), (3, 4), (2, 3, 4), (1, 3, 4), (2, 1, 3, 4), (2, 1, 1, 4)):
        sdpa(q, k, v, torch.ones(shape, dtype=torch.bool))
    for shape in ((), (4,), (5, 2, 2, 3, 4), (2, 4), (3, 3)):
        with pytest.raises((RuntimeError, IndexError)):
            sdpa(q, k, v, torch.ones(shape, dtype=torch.bool))
    close(math_attention(q, k, v, torch.ones(4))[0], sdpa(q, k, v))


def test_mask_dtypes():
    q, k, v = qkv()
    for dtype in (torch.float16, torch.float64, torch.int64):
        with pytest.raises(RuntimeError, match="attn_mask dtype"):
            sdpa(q, k, v, FLOAT_MASK.to(dtype))
    assert sdpa(q.half(), k.half(), v.half(), FLOAT_MASK).dtype == torch.float16


def test_grouped_heads():
    q, k, v = qkv(heads=6, kv_heads=2)
    expected = sdpa(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    close(sdpa(q, k, v, enable_gqa=True), expected)
    close(flash(q, k, v)[0], expected)
    close(sdpa(q[0], k[0], v[0], enable_gqa=True), expected[0])
    with pytest.raises(RuntimeError):
        sdpa(q, k, v)
    close(sdpa(q, k[:, :1], v[:, :1]), sdpa(q, k[:, :1], v[:, :1], enable_gqa=True))
    close(
        sdpa(q, k, v[:, :1], enable_gqa=True),
        sdpa(q, k.repeat_interleave(3, 1), v[:, :1].repeat_interleave(6, 1)),
    )
    with pytest.raises(RuntimeError, match="divide"):
        sdpa(q[:, :1], k, v, enable_gqa=True)
    with pytest.raises(IndexError):
        sdpa(q[0, 0], k[0, 0], v[0, 0], enable_gqa=True)


def test_other_ranks_and_broadcast_batches_and_value_sizes():
    q, k, v = qkv()
    expected = sdpa(q, k, v)
    close(sdpa(q[0], k[0], v[0]), expected[0])
    close(sdpa(q[0, 0], k[0, 0], v[0, 0]), expected[0, 0])
    close(sdpa(q[None], k[None], v[None]), expected[None])
    close(sdpa(q[:, :1], k, v), sdpa(q[:, :1].expand(2, 2, 3, 8), k, v))
    close(sdpa(q, k[:1], v[:1]), sdpa(q, k[:1].expand(2, 2, 4, 8), v[:1].expand(2, 2, 4, 8)))
    close(sdpa(q, k, v[..., :5]), expected[..., :5])
    close(sdpa(q[0], k, v), sdpa(q[:1].expand(2, 2, 3, 8), k, v))
    close(sdpa(q, k[0, 0], v[0, 0]), sdpa(q, *(t[:1, :1].expand(2, 2, 4, 8) for t in (k, v))))
    close(sdpa(q[0], k[0], v), torch.stack([sdpa(q[0], k[0], part) for part in v]))
    close(sdpa(q[0], k, v[:, :1], enable_gqa=True), sdpa(q[0], k, v[:, :1].expand(2, 2, 4, 8)))


def test_a_mask_makes_the_scores_no_larger():
    q, k, v = qkv()
    mask = torch.ones(2, 1, 1, 4, dtype=torch.bool)
    close(sdpa(q[0], k, v, mask), sdpa(q[0], k, v))
    with pytest.raises(RuntimeError, match="broadcast shape"):
        sdpa(q[0], k[0], v, mask)


def test_no_keys_give_zeros():
    q, k, v = qkv()
    assert (sdpa(q, k[:, :, :0], v[:, :, :0]) == 0).all()


def test_dropout():
    q, k, v = qkv()
    with pytest.raises(RuntimeError, match="dropout"):
        flash(q, k, v, 0.5)
    assert not torch.equal(sdpa(q, k, v, None, 0.5), sdpa(q, k, v))
