// Symbolic sizes, as torch.export writes them: what sympy's srepr gives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"

namespace unfuse::pt2 {

struct SymbolicExpression {
  Dim dim;
  /// Names of the symbols in it, each once.
  std::vector<std::string> symbols;
  /// Symbols of `dim` that stand for what no Dim can hold, named by the expression that gives
  /// them: "TruncToInt(Mul(1.5, ToFloat(s0)))".
  std::vector<std::string> unknown;
};

/// Parses "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))". What is
/// not made of integers, sums, products, small powers, floor divisions, remainders, minima and
/// maxima becomes a symbol of its own.
/// Nothing is evaluated but integer arithmetic. Throws Error (kInvalidFile) when the text is no
/// such expression, nests deeper than 64 levels, has no reasonable size when it is multiplied out,
/// divides by zero, or overflows 64 bits.
SymbolicExpression parse_symbolic_expression(std::string_view text);

}  // namespace unfuse::pt2
