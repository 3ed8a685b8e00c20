"""What aten._native_multi_head_attention does on the CPU.

Each decomposition in src/passes/decompose repeats the meaning of one op. When a newer torch changes
one of these answers, the test that fails here names the sentence to change there.
"""

import math

import pytest
import torch
from attention_calls import BATCH, EMBED, HEADS, INF, LENGTH, MASKS, Heads, bools, close, reference


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_attention_is_projection_scaled_softmax_projection(heads):
    op = Heads()
    out, weights = op(heads=heads, need_weights=True, average=False)
    expected, expected_weights = reference(op, op.x, op.x, op.x, heads)
    close(out, expected)
    close(weights, expected_weights)
    assert out.is_contiguous()


def test_odd_head_counts_work_in_the_op():
    op = Heads(embed=15)
    close(op(heads=3)[0], reference(op, op.x, op.x, op.x, 3)[0])


@pytest.mark.parametrize("same", ["key is value", "query is key", "all differ"])
def test_query_key_value_may_differ(same):
    op, other = Heads(), Heads(seed=1).x
    third = other if same == "key is value" else Heads(seed=2).x
    key = op.x if same == "query is key" else other
    close(op(op.x, key, third)[0], reference(op, op.x, key, third, HEADS)[0])


def test_averaged_weights_are_the_sum_over_heads_by_their_number():
    op = Heads()
    each, mean = op(need_weights=True, average=False)[1], op(need_weights=True)[1]
    assert mean.shape == (BATCH, LENGTH, LENGTH)
    assert torch.equal(mean, each.sum(1) / HEADS)


def test_without_weights_the_second_result_is_none():
    assert Heads()()[1] is None
    # So it is from a compiled graph, though a fake tensor with an empty dimension is recorded.
    op = Heads()
    assert torch.compile(lambda x: op(x), backend="aot_eager")(op.x)[1] is None


ACCEPTED_MASKS = {
    (0, (LENGTH, LENGTH)),
    (1, (BATCH, LENGTH)),
    *((kind, (BATCH, HEADS, LENGTH, LENGTH)) for kind in (None, 0, 1, 2, 3)),
}


@pytest.mark.parametrize("kind", [None, 0, 1, 2, 3])
@pytest.mark.parametrize(
    "shape",
    [
        (),
        (3,),
        (3, 3),
        (2, 3),
        (1, 3),
        (3, 1),
        (1, 1),
        (6, 6),
        (4, 3, 3),
        (1, 3, 3),
        (2, 2, 3, 3),
        (1, 2, 3, 3),
        (2, 1, 3, 3),
        (1, 1, 3, 3),
        (2, 1, 1, 3),
        (2, 2, 3, 3, 1),
    ],
    ids=str,
)
def test_which_masks_are_accepted(kind, shape):
    """A mask of rank 2 goes by its type, any other is of type 2; none broadcasts."""
    mask = torch.zeros(shape, dtype=torch.bool)
    if (kind, shape) in ACCEPTED_MASKS:
        Heads()(mask=mask, mask_type=kind)
        return
    with pytest.raises(RuntimeError, match="[Mm]ask"):
        Heads()(mask=mask, mask_type=kind)


@pytest.mark.parametrize("kind", MASKS)
def test_true_means_masked(kind):
    op = Heads()
    mask, spread = MASKS[kind]
    out, weights = op(mask=mask, mask_type=kind, need_weights=True, average=False)
    expected, expected_weights = reference(op, op.x, op.x, op.x, HEADS, spread(mask))
    close(out, expected)
    close(weights, expected_weights)


@pytest.mark.parametrize("value", [-INF, INF, 1.0, -1e-30, 1e-45, math.nan, 5.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_float_mask_masks_wherever_it_is_not_zero(value, dtype):
    mask = MASKS[1][0]
    as_float = torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, value)
    masked = as_float.ne(0)  # a tiny value may round to zero
    op = Heads()
    assert torch.equal(op(mask=as_float, mask_type=1)[0], op(mask=masked, mask_type=1)[0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16])
def test_a_mask_of_any_dtype_is_read_as_bool(dtype):
    op, mask = Heads(), MASKS[1][0]
    assert torch.equal(op(mask=mask.to(dtype), mask_type=1)[0], op(mask=mask, mask_type=1)[0])


@pytest.mark.parametrize("average", [True, False])
def test_a_row_whose_keys_are_all_masked_is_nan(average):
    mask = bools([[1, 1, 1], [0, 0, 1]])
    out, weights = Heads()(mask=mask, mask_type=1, need_weights=True, average=average)
    assert out[0].isnan().all() and not out[1].isnan().any()
    assert weights[0].isnan().all() and not weights[1].isnan().any()


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0), (0, 0)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_empty_input_gives_an_empty_result_and_no_weights_and_reads_no_mask(sizes, need_weights):
    empty = torch.empty(*sizes, EMBED)
    out, weights = Heads()(empty, need_weights=need_weights, mask=torch.zeros(5, 5).bool())
    assert out.shape == empty.shape and weights is None
    with pytest.raises(RuntimeError, match="divide evenly"):
        Heads()(empty, heads=3)


@pytest.mark.parametrize(
    "message, call",
    {
        "3-D `query`": lambda op: op(op.x[0]),
        "shapes to match": lambda op: op(op.x, torch.zeros(2, 4, EMBED)),
        "didn't match last dim": lambda op: op(embed=4),
        "divide evenly": lambda op: op(heads=3),
        "first dim to be 3x": lambda op: op(qkv_weight=torch.zeros(16, EMBED)),
        "second dim to be": lambda op: op(qkv_weight=torch.zeros(24, 4)),
        "1-D `qkv_bias`": lambda op: op(qkv_bias=torch.zeros(24, 1)),
        "first dim of query": lambda op: op(qkv_bias=torch.zeros(8)),
        "cannot be multiplied": lambda op: op(proj_weight=torch.zeros(EMBED, 5)),
        "expanded size": lambda op: op(proj_bias=torch.zeros(7)),
    }.items(),
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_the_op_refuses(message, call):
    with pytest.raises(RuntimeError, match=message):
        call(Heads())


@pytest.mark.parametrize("name", ["x", "qkv_weight", "proj_weight", "proj_bias"])
def test_mixed_dtypes_raise(name):
    op = Heads()
    setattr(op, name, getattr(op, name).half())
    with pytest.raises(RuntimeError, match="dtype"):
        op()


def test_a_packed_bias_of_another_dtype_is_read_as_bits():
    """Nobody can want this: opening refuses it."""
    op = Heads()
    wide = op.qkv_bias.double()
    as_bits = wide.view(torch.float32)[: len(wide)].nan_to_num(0)
    wide = as_bits.repeat(2).view(torch.float64)
    assert torch.equal(op(qkv_bias=wide)[0], op(qkv_bias=as_bits)[0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_only_floating_point_is_implemented(dtype):
    op = Heads(dtype=dtype)
    with pytest.raises(NotImplementedError):
        op()


def test_the_output_projection_need_not_be_square_and_its_bias_broadcasts():
    op = Heads()
    assert op(proj_weight=torch.zeros(5, EMBED), proj_bias=torch.zeros(5))[0].shape[-1] == 5
    out = op(proj_bias=torch.ones(1))[0]
    assert torch.equal(out, op(proj_bias=torch.ones(EMBED))[0])


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_sixteen_bits_keep_their_dtype_and_round_between_the_steps(dtype, tolerance):
    op = Heads(dtype=dtype)
    out, weights = op(need_weights=True)
    assert out.dtype == weights.dtype == dtype
    close(out, reference(op, op.x, op.x, op.x, HEADS)[0], tolerance)
