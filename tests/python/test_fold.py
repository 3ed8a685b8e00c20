"""What is folded while compiling is, bit for bit, what torch computes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from passes import Passed

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)


class Program:
    """Reads numbers as steps that compute with constants alone."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __call__(self, x):
        self.left = iter(self.numbers)
        self.tensors = [torch.full((3, 4), 0.7), torch.arange(4), torch.full((), 3.0)]
        try:
            while True:
                (self.made, self.computed, self.computed, self.moved)[self.below(4)]()
        except StopIteration:
            return tuple(tensor.clone() for tensor in self.tensors)

    def below(self, count):
        return next(self.left) % count

    def pick(self):
        return self.tensors[self.below(len(self.tensors))]

    def made(self):
        dtype = DTYPES[self.below(len(DTYPES))]
        number = (0, 1, 3, 100)[self.below(4)]
        if dtype.is_floating_point:
            number = (0.1, -3.7, 65000.0, 1e-7, float("inf"), -0.0)[self.below(6)]
        self.tensors.append(torch.full((3, 1)[: self.below(3)], number, dtype=dtype))

    def computed(self):
        a, b = self.pick(), self.pick()
        if not broadcastable(a, b):
            b = a
        number = (0.3, 2, -1.5, 7)[self.below(4)]
        plain = torch.bool not in (a.dtype, b.dtype)
        computations = [
            lambda: a < b,
            lambda: a == number,
            lambda: a != b,
            lambda: torch.where(a > 0, a, b),
            lambda: a.masked_fill(b > 0, 1),
            lambda: a.to(DTYPES[self.below(4)]),
            lambda: a.logical_not() | (b != 0),
            lambda: torch.where(b != 0, number, a),
        ]
        if plain:
            computations += [
                lambda: a + b, lambda: a - b, lambda: a * b, lambda: a / b, lambda: number - a,
                lambda: a * number, lambda: a / number, lambda: -a, lambda: a + number,
            ]  # fmt: skip
        result = computations[self.below(len(computations))]()
        if result.numel() <= 200:
            self.tensors.append(result)

    def moved(self):
        a = self.pick()
        moves = [lambda: a.reshape(-1), lambda: a.expand(2, *a.shape), lambda: a[None]]
        if a.dim() > 0:
            moves += [lambda: a[-1], lambda: a[::2], lambda: a.transpose(0, -1), lambda: a[1:]]
        if a.dim() > 1:
            moves += [lambda: a.tril(), lambda: a.triu(1)]
        result = moves[self.below(len(moves))]()
        if 0 < result.numel() <= 200:
            self.tensors.append(result)


def broadcastable(a, b):
    pairs = zip(reversed(a.shape), reversed(b.shape))
    # b must not widen a: masked_fill keeps a's sizes.
    return b.dim() <= a.dim() and all(n in (m, 1) for m, n in pairs)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=60))
def test_constant_programs(numbers):
    program = Program(numbers)
    x = torch.zeros(1)
    passed = Passed(program, [x])
    for result, expected in zip(passed(x), program(x), strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape, passed.text
        torch.testing.assert_close(
            result, expected, rtol=0, atol=0, equal_nan=True, msg=lambda text: text + passed.text
        )
        if result.is_floating_point():
            assert torch.equal(result.signbit(), expected.signbit()) or result.isnan().any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_tensor_of_one_number(dtype):
    """As scalar operands: the same values, and the same dtypes."""

    def function(x):
        half = x.new_full((), 0.3)
        return x * half, x + half, torch.where(x > 0, x, half), x / half, x < half

    x = torch.randn(50).to(dtype)
    passed = Passed(function, [x])
    assert "aten.mul.Scalar" in passed.text and "aten.full" not in passed.text, passed.text
    for result, expected in zip(passed(x), function(x), strict=True):
        assert result.dtype == expected.dtype
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
