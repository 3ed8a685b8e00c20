"""Exported ops at the edges of numbers, in ONNX Runtime: infinities, NaN, both zeros, integers that
wrap, nothing at all. What PyTorch gives is what the file gives."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from onnx_running import NEWEST, export, exported, run
from test_special_values import FUNCTIONS, INF, NAN, ROOTS, TOLERANCE, VALUES, answers
from torch import nn
from torch.export import Dim

OPSETS = pytest.mark.parametrize("opset", [17, NEWEST])


class Together(nn.Module):
    """The results of functions of the same tensors."""

    def __init__(self, functions):
        super().__init__()
        self.functions = dict(functions)

    def forward(self, *args):
        return [function(*args) for function in self.functions.values()]


def results_of(functions, args, tmp_path, opset, dynamic=None):
    """Name to what ONNX Runtime and what PyTorch give."""
    model = Together(functions)
    program = exported(model, args, dynamic_shapes=dynamic)
    got = run(export(program, tmp_path / "model.onnx", opset), args)
    return {
        name: pair
        for name, pair in zip(functions, zip(got, model(*args), strict=True), strict=True)
    }


def check(functions, args, tmp_path, opset, dynamic=None):
    for name, (got, wanted) in results_of(functions, args, tmp_path, opset, dynamic).items():
        assert got.dtype == wanted.dtype, name
        torch.testing.assert_close(got, wanted, equal_nan=True, msg=lambda m, n=name: f"{n}: {m}")


# --- Pointwise

#: Where a model's file says the function, and ONNX Runtime has a kernel of its own kind for it.
UNARY = {name: f for name, f in FUNCTIONS.items() if name not in {"xlogy", *ROOTS}}
#: ONNX Runtime has no kernels of them in float64.
NOT_IN_FLOAT64 = set("tan atan asin acos sinh cosh asinh acosh atanh".split())
#: Products that overflow on the way, in another order than in PyTorch.
OVERFLOWS = {"hardswish", "gelu, tanh"}


@OPSETS
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
def test_unary(dtype, opset, tmp_path):
    values = torch.tensor(VALUES).to(dtype)
    left_out = NOT_IN_FLOAT64 if dtype == torch.float64 else set()
    functions = {name: f for name, f in UNARY.items() if name not in left_out}
    theirs = dict(zip(FUNCTIONS, answers(values), strict=True))
    faults = []
    for name, (got, _) in results_of(functions, (values,), tmp_path, opset).items():
        right = close(got, theirs[name], dtype).any(0)
        faults += [
            f"{name}({value}) is {result}, not {set(expected.tolist())}"
            for value, result, expected, ok in zip(values, got, theirs[name].t(), right)
            if not ok and not (name in OVERFLOWS and value > 1e38)
        ]
    assert not faults, "\n".join(faults)


def close(mine, theirs, dtype):
    """Elementwise. ONNX leaves the signs of zeros open, and ONNX Runtime's logistic function ends
    where it is 2e-8."""
    relative = TOLERANCE[dtype][0]
    mine, theirs = mine.double(), theirs.double()
    return torch.isclose(mine, theirs, rtol=relative, atol=1e-7, equal_nan=True)


PAIRS = [INF, -INF, NAN, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e30, 1e-30]
BINARY = {
    "floor_divide": torch.floor_divide,
    "div, floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div, trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "div": torch.div,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "atan2": torch.atan2,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp": lambda x, y: torch.clamp(x, min=y, max=y + 1),
    "lt": torch.lt,
    "ge": torch.ge,
    "ne": torch.ne,
    "where": lambda x, y: torch.where(x > y, x, y),
}


@OPSETS
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, opset, tmp_path):
    x, y = torch.tensor(list(itertools.product(PAIRS, PAIRS))).unbind(1)
    check({name: BINARY[name]}, (x, y), tmp_path, opset)


@OPSETS
@pytest.mark.parametrize("name", [name for name in BINARY if name != "atan2"])  # NOT_IN_FLOAT64
def test_binary_in_float64(name, opset, tmp_path):
    x, y = torch.tensor(list(itertools.product(PAIRS, PAIRS)), dtype=torch.float64).unbind(1)
    check({name: BINARY[name]}, (x, y), tmp_path, opset)


INTEGERS = [0, 1, -1, 2, -3, 7, 2**31 - 1, -(2**31), 2**53 + 1, 2**62 + 3, 2**63 - 1, -(2**63)]
OF_INTEGERS = {
    "pow": lambda x, y: x ** (y % 70),
    "pow of a number": lambda x, y: 3 ** (y % 50) + (-1) ** y,
    "pow by numbers": lambda x, y: x**0 + x**2 + x**5 + x**63,
    "square": lambda x, y: x.square(),
    "mul": torch.mul,
    "sum": lambda x, y: x.sum(),
    "prod": lambda x, y: x[1:].prod() + x.view(12, 12).prod(0),
    "abs": lambda x, y: x.abs(),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp": lambda x, y: x.clamp(3, 100),
    "amax": lambda x, y: x.view(12, 12).amax(0) + x.amin(),
    "argmax": lambda x, y: x.view(12, 12).argmax(0) + y.view(12, 12).argmin(0),
    "remainder": lambda x, y: x % 7 + x.remainder(-13),
    "floor_divide": lambda x, y: x // 7 + x // -13,
    "cumsum": lambda x, y: x.cumsum(0),
    "sum into int32": lambda x, y: x.sum(dtype=torch.int32),
    "prod into int32": lambda x, y: x.prod(dtype=torch.int32),
    "compared": lambda x, y: (x > y) ^ (x == y),
    "sign": lambda x, y: x.sign(),
}


@OPSETS
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8], ids=str)
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers(name, dtype, opset, tmp_path):
    x, y = torch.tensor(list(itertools.product(INTEGERS, INTEGERS))).to(dtype).unbind(1)
    check({name: OF_INTEGERS[name]}, (x.contiguous(), y.contiguous()), tmp_path, opset)


# --- Reductions

REDUCTIONS = {
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin((0, 1)),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "max of a dim": lambda x: x.max(1)[0],
    "min of a dim": lambda x: x.min(1)[0],
    "place of max": lambda x: x.max(1)[1],
    "place of min": lambda x: x.min(0)[1],
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1, keepdim=True),
    "argmax of all": lambda x: x.argmax(),
    "argmin of all": lambda x: x.argmin(),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "prod": lambda x: x.prod(1),
    "var": lambda x: x.var(1),
    "softmax": lambda x: x.softmax(1),
    "norm": lambda x: x.norm(dim=1),
    "cumsum": lambda x: x.cumsum(1),
    "relu": F.relu,
}
ROWS = [
    [1, NAN, 3, 4],
    [NAN, 5, NAN, -1],
    [INF, 1, 2, INF],
    [-INF, -INF, -INF, -INF],
    [-INF, 3, 0, INF],
    [INF, NAN, -INF, 0],
    [2, 2, 1, 1],
]


@OPSETS
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype, opset, tmp_path):
    check({name: REDUCTIONS[name]}, (torch.tensor(ROWS, dtype=dtype),), tmp_path, opset)


@OPSETS
def test_log_softmax(opset, tmp_path):
    """ONNX Runtime's kernel for float64 gives numbers beside NaN and infinities."""
    functions = {"log_softmax": lambda x: x.log_softmax(1)}
    check(functions, (torch.tensor(ROWS),), tmp_path, opset)
    check(functions, (torch.randn(3, 4, dtype=torch.float64),), tmp_path, opset)


OF_NOTHING = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "mean of all": lambda x: x.mean(),
    "prod": lambda x: x.prod(0),
    "any": lambda x: (x > 0).any(0),
    "all": lambda x: (x > 0).all(0),
    "var": lambda x: x.var(0),
    "softmax": lambda x: x.softmax(1),
    "sum of integers": lambda x: x.long().sum(0),
    "norm": lambda x: x.norm(dim=0),
}


@OPSETS
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("name", OF_NOTHING)
def test_reductions_of_nothing(name, fixed, opset, tmp_path):
    model = Together({name: OF_NOTHING[name]})
    nothing = torch.zeros(0, 3)
    given, sizes = (nothing, None) if fixed else (torch.ones(4, 3), (({0: Dim.DYNAMIC},),))
    runtime = export(exported(model, (given,), dynamic_shapes=sizes), tmp_path / "m.onnx", opset)
    (got,), (wanted,) = run(runtime, (nothing,)), model(nothing)
    torch.testing.assert_close(got, wanted, equal_nan=True)


# --- Attention, pooling


@OPSETS
@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_float64(masked, opset, tmp_path):
    q, k, v = torch.randn(3, 2, 4, 5, 8, dtype=torch.float64).unbind(0)
    args = (q, k, v, torch.randn(5, 5, dtype=torch.float64)) if masked else (q, k, v)
    ((got, wanted),) = results_of(
        {"sdpa": F.scaled_dot_product_attention}, args, tmp_path, opset
    ).values()
    torch.testing.assert_close(got, wanted, rtol=1e-13, atol=1e-13)


def attention_of(queries, keys):
    return tuple(torch.randn(2, 4, n, 8) for n in (queries, keys, keys))


@OPSETS
@pytest.mark.parametrize("queries,keys", [(3, 0), (0, 3)])
def test_attention_of_nothing(queries, keys, opset, tmp_path):
    check({"sdpa": F.scaled_dot_product_attention}, attention_of(queries, keys), tmp_path, opset)


# From 23 on not without keys: ONNX Runtime's Attention fails.
@pytest.mark.parametrize("queries,keys,opset", [(3, 0, 17), (3, 0, 22), (0, 3, 17), (0, 3, NEWEST)])
def test_attention_that_may_be_of_nothing(queries, keys, opset, tmp_path):
    attend = Together({"sdpa": F.scaled_dot_product_attention})
    n, m = Dim("n", min=0), Dim("m", min=0)
    sizes = (({2: n}, {2: m}, {2: m}),)
    program = exported(attend, attention_of(3, 4), dynamic_shapes=sizes)
    runtime, args = export(program, tmp_path / "m.onnx", opset), attention_of(queries, keys)
    (got,), (wanted,) = run(runtime, args), attend(*args)
    torch.testing.assert_close(got, wanted, equal_nan=True)


@OPSETS
@pytest.mark.parametrize("size", [5, 6, 7, 8])
@pytest.mark.parametrize("kernel,stride,padding", [(2, 2, 0), (3, 2, 1), (2, 3, 1), (3, 3, 0)])
def test_max_pool_that_rounds_up(kernel, stride, padding, size, opset, tmp_path):
    def pool(x):
        return F.max_pool2d(x, kernel, stride, padding, ceil_mode=True)

    check({"pool": pool}, (torch.randn(2, 3, size, size + 1),), tmp_path, opset)
