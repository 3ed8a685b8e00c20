"""Down to core ATen: functions of every kind, that give what they gave, in core ops alone."""

import pytest
import torch
import torch.nn.functional as F
import unfuse
from torch import nn
from torch.export import Dim, export


def is_core(program):
    targets = [node.target for node in program.graph.nodes]
    ops = [target for target in targets if isinstance(target, torch._ops.OpOverload)]
    return all(torch.Tag.core in op.tags for op in ops)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def heads(x, groups=1):
    """[3, 5, 16] as queries, and as keys and values of fewer heads."""
    q = x.unflatten(-1, (4, 4)).transpose(1, 2)
    kv = q[:, :: 4 // groups] if groups > 1 else q
    return q, kv, kv.flip(-1)


def hidden(x):
    return (x.sum(-1) > 0)[:, None, None]


def pools_over_volumes(x):
    """Of [3, 5, 4, 4]; PyTorch averages no bfloat16."""
    average = F.avg_pool3d(x.float(), 2, padding=1, stride=2)[:, :2, :2, :2]
    return F.max_pool3d(x, 2) + F.adaptive_avg_pool3d(x, 2) + average


FUNCTIONS = {
    "silu": F.silu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "softplus": lambda x: F.softplus(30 * x) + F.softplus(x, 0.5, 2),
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "gelu": lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"),
    "exp2_frac": lambda x: torch.exp2(x) + torch.frac(x),
    "numbers_tested": lambda x: torch.stack(
        [
            f(x.masked_fill(x > 1, torch.inf).masked_fill(x < -1, -torch.inf) * (x != x[0, 0, 0]))
            for f in (torch.isfinite, torch.isposinf, torch.isneginf)
        ]
    ),
    "nan_to_num": lambda x: (
        (x.masked_fill(x > 1, torch.inf) * x.masked_fill(x < 0, 0).sign()).nan_to_num()
        + (x / (x > 0)).nan_to_num(1.0, 2.0, 3.0)
    ),
    "steps": lambda x: torch.heaviside(x.round(), x) + torch.sgn(x),
    "fill_by_tensor": lambda x: x.masked_fill(x > 0, x[0, 0, 0]),
    "logit": lambda x: torch.logit(x.sigmoid()) + torch.logit(x, 0.1),
    "logarithms": lambda x: torch.xlogy(x.round(), x.exp()) + torch.logaddexp(x, 2 * x[0]),
    "lengths": lambda x: torch.hypot(x, x.flip(0)) + torch.logaddexp2(x, 2 * x[0]),
    "numbers_first": lambda x: torch.fmax(x / (x > 0), x[0]) + torch.fmin(x[0], x / (x < 0)),
    "isclose": lambda x: torch.isclose(x.round(), x, rtol=0.2, atol=0.1, equal_nan=True),
    "linspace": lambda x: x * torch.linspace(-1, 2, 16, dtype=x.dtype),
    "angles": lambda x: torch.sinc(x.round() + x[0]) + torch.deg2rad(x) + torch.rad2deg(x) / 60,
    "lerp": lambda x: torch.lerp(x, x.flip(0), x[0]) + torch.lerp(x, x.flip(1), 0.7),
    "float_power": lambda x: torch.float_power(x.exp(), 2) + torch.float_power(x.exp(), x),
    "logsumexp": lambda x: (
        x.logsumexp(-1) + (20 * x).logsumexp((0, 2)) + x.masked_fill(x < 9, -torch.inf).logsumexp(2)
    ),
    "nanmean": lambda x: (
        (x / (x > 0)).nanmean(-1) + (x / (x > 0)).nanmean((0, 2), keepdim=True)[..., 0]
    ),
    "nansum": lambda x: (x / (x > 0)).nansum(-1) + (0 * x / (x > 0)).nansum(-1),
    "eye": lambda x: x @ torch.eye(16, dtype=x.dtype) @ torch.eye(16, 3, dtype=x.dtype),
    "pools3d": lambda x: pools_over_volumes(x.unflatten(-1, (4, 4))),
    "softmax": lambda x: x.softmax(-1) + x.log_softmax(0) + F.softmin(x, 1),
    "softmax_dtype": lambda x: torch.softmax(x, 1, dtype=torch.float64),
    "safe_softmax": lambda x: torch.ops.aten._safe_softmax(
        x.masked_fill(hidden(x)[..., 0, :, None], -torch.inf), -1
    ),
    "triangles": lambda x: x.tril(1) + x.triu(-1) + (x > 0).tril().float(),
    "fills": lambda x: (
        x.masked_fill(x > 0, 2) + torch.where(x < 0, x, 3.0) + torch.where(x < 1, 2.0, x)
    ),
    "numbers": lambda x: (2 - x) + torch.rsub(x, 3, alpha=2) + x // 0.5 + x // (x + 9),
    "all": lambda x: (x > -1).all(-1) | (x > 0).all() | (x > 1).any(0)[0, 0],
    "reductions": lambda x: (
        x.std(-1) + x.var(-1, correction=0) + x.amax(-1) + x.norm(dim=-1) + x.mean(-1)
    ),
    "shapes": lambda x: (
        torch.stack([*x.chunk(2, -1)], 1).flatten(1).roll(2, 1).squeeze().repeat(1, 2)
    ),
    "views": lambda x: x.transpose(0, 1).reshape(5, -1).t().reshape(-1, 5),
    "splits": lambda x: torch.cat([part.transpose(0, 1) for part in x.split([4, 12], -1)], -1),
    "pad": lambda x: F.pad(x, (1, 2)).cumsum(-1),
    "einsum": lambda x: torch.einsum("bld,bmd->blm", x, x),
    "matmul": lambda x: x @ x.transpose(1, 2) @ x + x @ x[0].t() @ x[1] + (x[0] @ x[1, 0])[:, None],
    "matmul_broadcast": lambda x: x[:, None] @ x.transpose(1, 2)[None],
    "linear": lambda x: F.linear(x, x[0], x[0, :, 0]) + F.linear(x, x[0]),
    "glu": F.glu,
    "rms_norm": lambda x: F.rms_norm(x, (16,), x[0, 0]) + F.rms_norm(x, (5, 16), eps=0.1),
    "layer_norm": lambda x: F.layer_norm(x, (16,), x[0, 0], x[0, 1]) + F.layer_norm(x, (5, 16)),
    "group_norm": lambda x: F.group_norm(
        x.transpose(1, 2), 4, x[0, 0].contiguous(), x[0, 1].contiguous()
    ),
    "batch_norm": lambda x: F.batch_norm(x.transpose(1, 2), x[0, 0], x[0, 1].abs() + 1),
    "pools": lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, (2, 8)),
    "conv": lambda x: F.conv1d(x.transpose(1, 2), x[:, :3].transpose(1, 2), padding="same"),
    "sdpa": lambda x: F.scaled_dot_product_attention(*heads(x)),
    "sdpa_causal": lambda x: F.scaled_dot_product_attention(*heads(x), is_causal=True, scale=0.3),
    "sdpa_bool": lambda x: F.scaled_dot_product_attention(*heads(x), attn_mask=hidden(x)),
    "sdpa_float": lambda x: F.scaled_dot_product_attention(*heads(x), attn_mask=x[:, None, :, :5]),
    "sdpa_groups": lambda x: F.scaled_dot_product_attention(*heads(x, 2), enable_gqa=True),
    "embedding": lambda x: F.embedding(x.argmax(1), x[0]),
    "gather": lambda x: x.gather(1, x.argmax(1, keepdim=True)),
    "index_writes": lambda x: (
        x.index_add(1, torch.tensor([1, 0]), x[:, 2:4], alpha=2)
        + x.index_copy(-1, torch.tensor([3, 1]), x[..., :2])
        + x.index_fill(0, torch.tensor([2, 0]), 3.0)
    ),
    "take_along_dim": lambda x: (
        x.take_along_dim(x.argmax(1, keepdim=True), 1)
        + x.contiguous().take_along_dim(x[0].contiguous().argsort(), None)[3]
    ),
    "one_hot": lambda x: F.one_hot((x > 0).long() + (x > 1).long(), 4) * x[..., None],
    "orders": lambda x: (
        x.sort(1).values + x.sort(-1, descending=True)[1] + x.topk(2, 0)[0][1:] + x.argsort(0)
    ),
    "index": lambda x: x[[0, 2], :, [1, 3]] + x.index_select(1, torch.tensor([0, 2, 4]))[0, 0, 0],
    "in_place": lambda x: (
        x.clone().mul_(2).add_(1).transpose(0, 1).clamp_(min=0)[1:].zero_() + x[0, 0, 0]
    ),
}


@pytest.mark.parametrize(
    "dynamic,dtype", [(False, torch.float32), (True, torch.float32), (False, torch.bfloat16)]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dynamic, dtype):
    model, x = Function(FUNCTIONS[name]).eval(), torch.randn(3, 5, 16).to(dtype)
    sizes = ({0: Dim.AUTO, 1: Dim.AUTO},) if dynamic else None
    program = export(model, (x,), dynamic_shapes=sizes)
    core = unfuse.decompose(program, to="core", strict=True)
    assert is_core(core)
    # Inputs may lie otherwise than those that were exported with.
    for given in (x, x.transpose(0, 2).contiguous().transpose(0, 2)):
        result, expected = core.module()(given), model(given)
        tolerance = {"rtol": 0.02, "atol": 0.05} if dtype is torch.bfloat16 else {}
        torch.testing.assert_close(
            result, expected, equal_nan=True, check_stride=False, **tolerance
        )


def test_complex_numbers_are_left():
    """What is written for real numbers would give others, or errors."""

    def function(x):
        return torch.isclose(x, x + 1j), torch.logaddexp(x, x + 1), torch.sinc(x)

    model, x = Function(function).eval(), torch.randn(3, 4, dtype=torch.complex64)
    for given, wanted in zip(
        unfuse.decompose(export(model, (x,)), to="core").module()(x), model(x)
    ):
        torch.testing.assert_close(given, wanted)
    for given, wanted in zip(torch.compile(model, backend="unfuse")(x), model(x)):
        torch.testing.assert_close(given, wanted)
    left = {each.op for each in unfuse.explain(model, x).left_to_torch}
    assert {"aten.logaddexp.default", "aten.sinc.default"} <= left  # torch takes isclose apart
