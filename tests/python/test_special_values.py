"""Pointwise ops at the edges of numbers: infinities, NaN, both zeros, denormals, the largest.

PyTorch takes other ways for long tensors, for their last elements and for strided ones. Where all
of them agree, so must we; where they do not, one of its answers is right. docs/facts.md names the
ops where we differ knowingly; the tests below the first hold them.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from compiling import Compiled

INF, NAN = math.inf, math.nan
EDGES = [INF, NAN, 0.0, 1e-45, 1e-38, 3e38, 65504.0, 104.0, 88.0, 20.0, 1e4]
VALUES = [*EDGES, *(-value for value in EDGES)]

FUNCTIONS = {
    **{
        name: getattr(torch, name)
        for name in (
            "sigmoid tanh exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal erf erfc sin "
            "cos tan atan asin acos sinh cosh asinh acosh atanh floor ceil round trunc frac sign "
            "sgn abs neg square isnan nan_to_num relu"
        ).split()
    },
    **{
        name: getattr(F, name)
        for name in (
            "silu softplus mish hardswish hardsigmoid hardtanh relu6 elu selu celu leaky_relu "
            "logsigmoid softsign tanhshrink softshrink hardshrink gelu"
        ).split()
    },
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "threshold": lambda x: F.threshold(x, 0.0, 1.0),
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp at zero": lambda x: x.clamp(0.0, 6.0),
    "clamp_min": lambda x: x.clamp(min=0.0),
    "clamp_max": lambda x: x.clamp(max=-0.0),
    "maximum": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "minimum": lambda x: torch.minimum(torch.zeros_like(x), x),
    "xlogy": lambda x: torch.xlogy(x, x),
    "2 ** x": lambda x: 2**x,
    **{f"x ** {power}": lambda x, p=power: x**p for power in (0.5, -0.5, -1, 2, 3, 2.5, 0, 1)},
}
ROOTS = ("x ** 0.5", "x ** -0.5")

#: (relative, absolute) errors, the latter for results that fade out.
TOLERANCE = {
    torch.float32: (3e-6, 2e-38),
    torch.float64: (1e-9, 1e-85),
    torch.float16: (2e-3, 1e-7),
    torch.bfloat16: (1e-2, 2e-38),
}


def function_of_all(x):
    return [function(x) for function in FUNCTIONS.values()]


def answers(values):
    """What PyTorch gives for each value, in every way that it has, by function."""
    long = values.repeat(5)
    strided = torch.stack([long, long], 1)[:, 0]
    single = [function_of_all(value.clone()) for value in values]
    ways = [function_of_all(long), function_of_all(strided)]
    for index in range(len(FUNCTIONS)):
        yield torch.stack(
            [
                *(way[index].view(5, -1)[i] for way in ways for i in range(5)),
                torch.stack([results[index] for results in single]),
            ]
        )


def alike(mine, theirs, dtype):
    """Elementwise; zeros must have the same sign."""
    if mine.dtype == torch.bool:
        return mine == theirs
    mine, theirs = mine.double(), theirs.double()
    relative, absolute = TOLERANCE[dtype]
    close = torch.isclose(mine, theirs, rtol=relative, atol=absolute, equal_nan=True)
    zeros = (mine == 0) & (theirs == 0)
    return close & (~zeros | (mine.signbit() == theirs.signbit()))


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_one_of_pytorchs_answers_is_given(dtype, use_aot):
    values = torch.tensor(VALUES).to(dtype)
    compiled = Compiled(function_of_all, use_aot=use_aot)
    results = compiled(values.repeat(5))
    assert compiled.report.left_to_torch == []
    faults = []
    for name, mine, theirs in zip(FUNCTIONS, results, answers(values), strict=True):
        if name in ROOTS and dtype == torch.float16:
            continue  # test_roots_in_float16
        for row in mine.view(5, -1):
            right = alike(row, theirs, dtype).any(0)
            faults += [
                f"{name}({value}) is {result}, not {set(expected.tolist())}"
                for value, result, expected, ok in zip(values, row, theirs.t(), right)
                if not ok
            ]
    assert not faults, "\n".join(dict.fromkeys(faults))


def test_gelu_of_infinity():
    """PyTorch with AVX-512 gives NaN for several floats side by side, else infinity, as we do."""
    several = torch.full((64,), INF)
    with_avx512 = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    assert (F.gelu(several).isnan() if with_avx512 else F.gelu(several) == INF).all()
    assert F.gelu(several[:1]).item() == F.gelu(several[::2])[0].item() == INF
    assert F.gelu(several.double())[0].item() == INF
    half = F.gelu(several.half())
    assert half.isnan().all() or (half == INF).all()  # NaN where the machine has AVX512-FP16
    assert F.gelu(several, approximate="tanh")[0].item() == INF
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        assert (Compiled(F.gelu)(several.to(dtype)) == INF).all()


def test_roots_in_float16():
    """There alone PyTorch takes pow for a power and not for a root."""
    values = torch.tensor([-INF, -0.0])
    assert torch.equal(values.half() ** 0.5, torch.tensor([INF, 0.0]).half())
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        assert (values.to(dtype) ** 0.5)[0].isnan()
    assert Compiled(lambda x: x**0.5)(values.half())[0].isnan()


LARGE = torch.randn(4, 64, generator=torch.Generator().manual_seed(0)) * 1e19
NORMS = {
    "layer_norm": lambda x: F.layer_norm(x, (64,)),
    "group_norm": lambda x: F.group_norm(x, 4),
    "rms_norm": lambda x: F.rms_norm(x, (64,)),
}


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS.keys())
def test_norms_of_values_whose_squares_are_beyond_float32(norm, use_aot):
    """PyTorch gives zeros and NaN; we give the norm."""
    exact = norm(LARGE.double()).float()
    assert not torch.allclose(norm(LARGE), exact)
    torch.testing.assert_close(Compiled(norm, use_aot=use_aot)(LARGE), exact, rtol=1e-5, atol=1e-5)


def test_attention_of_nan():
    """PyTorch's flash form hides it: such a row is taken for fully masked, and is 0. Its math form
    does not, and neither do we."""
    q, k, v = torch.randn(3, 1, 2, 4, 8).unbind(0)
    q[0, 0, 1, 3] = NAN
    attend = F.scaled_dot_product_attention
    assert (attend(q, k, v)[0, 0, 1] == 0).all()
    assert attend(q[0], k[0], v[0])[0, 1].isnan().all()
    result = Compiled(attend)(q, k, v)
    assert result[0, 0, 1].isnan().all()
    assert result.isnan().sum() == 8


def test_numbers_that_float16_rounds_to_zero(use_aot):
    """float16 graphs are computed in float32, where the eps of normalize is not 0."""
    x = torch.zeros(2, 8, dtype=torch.float16)
    assert F.normalize(x).isnan().all()
    assert (Compiled(F.normalize, use_aot=use_aot)(x) == 0).all()
    assert (F.normalize(x.float()) == 0).all()
