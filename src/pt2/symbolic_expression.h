// Symbolic sizes, as torch.export writes them: what sympy's srepr gives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"

namespace unfuse::pt2 {

struct SymbolicExpression {
  /// Empty when the expression is no integer polynomial over symbols, floor divisions, remainders,
  /// minima and maxima: "TruncToInt(...)", for one.
  std::optional<Dim> dim;
  /// For readers, and to give an expression without a Dim a name: "TruncToInt(Mul(1.5, s0))".
  std::string text;
  /// Names of the symbols in it, each once.
  std::vector<std::string> symbols;
};

/// Parses "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))".
/// Nothing is evaluated but integer arithmetic. Throws Error (kInvalidFile) when the text is no
/// such expression, nests deeper than 64 levels, divides by zero, or overflows 64 bits.
SymbolicExpression parse_symbolic_expression(std::string_view text);

}  // namespace unfuse::pt2
