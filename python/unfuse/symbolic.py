"""Symbolic sizes: sympy expressions of torch's SymInts become Dims."""

from __future__ import annotations

import functools
from typing import Any

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import CeilDiv, CleanDiv, FloorDiv, Max, Min, Mod, PythonMod

from unfuse._unfuse import Dim


class NoDim(Exception):
    """An expression that a Dim cannot hold."""


def to_dim(size: int | torch.SymInt) -> Dim:
    """A size as a Dim. What a Dim cannot hold is specialised: the value that was traced with
    stands for it, and a guard makes dynamo compile again for another."""
    if isinstance(size, int):
        return Dim(size)
    try:
        return _expression(size.node.expr)
    except NoDim:
        return Dim(int(size))


def is_data_dependent(value: Any) -> bool:
    """A size of this value depends on elements, not on sizes, of the inputs."""
    return bool(free_unbacked_symbols(value))


def to_number(value: Any) -> Any:
    """Symbolic floats and bools are specialised as well: nothing of ours computes with them."""
    if isinstance(value, torch.SymFloat):
        return float(value.node.guard_float("", 0))
    if isinstance(value, torch.SymBool):
        return bool(value)
    return value


def _expression(expression: sympy.Expr) -> Dim:
    if expression.is_Integer:
        return Dim(int(expression))
    if expression.is_Symbol:
        return Dim.symbol(expression.name)
    operands = lambda: [_expression(operand) for operand in expression.args]  # noqa: E731
    if expression.is_Add:
        return functools.reduce(Dim.__add__, operands())
    if expression.is_Mul:
        return functools.reduce(Dim.__mul__, operands())
    if expression.is_Pow:
        return _power(expression)
    if isinstance(expression, FloorDiv | CleanDiv):
        return Dim.floordiv(*operands())
    if isinstance(expression, CeilDiv):
        numerator, denominator = operands()
        return Dim.floordiv(numerator + denominator - Dim(1), denominator)
    if isinstance(expression, Mod | PythonMod):
        return Dim.mod(*operands())
    if isinstance(expression, Max | sympy.Max):
        return functools.reduce(Dim.max, operands())
    if isinstance(expression, Min | sympy.Min):
        return functools.reduce(Dim.min, operands())
    raise NoDim


def _power(expression: sympy.Expr) -> Dim:
    base, exponent = expression.args
    if not exponent.is_Integer or int(exponent) < 1:
        raise NoDim
    return functools.reduce(Dim.__mul__, [_expression(base)] * int(exponent))


def symbol_range(shape_env: Any, symbol: sympy.Symbol) -> tuple[int, int]:
    """The closed interval that torch knows of a symbol."""
    bounds = shape_env.var_to_range.get(symbol)
    largest = 2**63 - 1
    if bounds is None:
        return 0, largest

    def limited(bound: Any, default: int) -> int:
        return int(bound) if bound.is_Integer and abs(int(bound)) < largest else default

    return limited(bounds.lower, 0), limited(bounds.upper, largest)
