#include "pt2/symbolic_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Dim s0 = Dim::symbol("s0");
const Dim s1 = Dim::symbol("s1");

Dim parse(const std::string& text) {
  const SymbolicExpression expression = parse_symbolic_expression(text);
  EXPECT_TRUE(expression.unknown.empty()) << text;
  return expression.dim;
}

TEST(SymbolicExpression, SymbolsAndIntegers) {
  EXPECT_EQ(parse("Symbol('s0', positive=True, integer=True)"), s0);
  EXPECT_EQ(parse("Symbol('s0')"), s0);
  EXPECT_EQ(parse("Symbol(\"s0\", integer=True)"), s0);
  EXPECT_EQ(parse("Integer(-12)"), Dim(-12));
  EXPECT_EQ(parse("  Integer( 3 ) "), Dim(3));
  EXPECT_EQ(parse("Integer(9223372036854775807)"), Dim(INT64_MAX));
}

TEST(SymbolicExpression, Polynomials) {
  EXPECT_EQ(parse("Add(Mul(Integer(2), Symbol('s0')), Integer(1))"), s0 * Dim(2) + Dim(1));
  EXPECT_EQ(parse("Add(Symbol('s0'), Mul(Integer(-1), Symbol('s1')), Integer(3))"),
            s0 - s1 + Dim(3));
  EXPECT_EQ(parse("Pow(Symbol('s0'), Integer(3))"), s0 * s0 * s0);
  EXPECT_EQ(parse("PowByNatural(Symbol('s0'), Integer(2))"), s0 * s0);
  EXPECT_EQ(parse("Pow(Symbol('s0'), Integer(0))"), Dim(1));
  EXPECT_EQ(parse("Mul(Add(Symbol('s0'), Integer(1)), Add(Symbol('s0'), Integer(-1)))"),
            s0 * s0 - Dim(1));
}

TEST(SymbolicExpression, Divisions) {
  EXPECT_EQ(parse("FloorDiv(Symbol('s0'), Integer(2))"), Dim::floordiv(s0, 2));
  EXPECT_EQ(parse("CleanDiv(Mul(Integer(4), Symbol('s0')), Integer(2))"), s0 * Dim(2));
  EXPECT_EQ(parse("Mod(Symbol('s0'), Integer(8))"), Dim::mod(s0, 8));
  EXPECT_EQ(parse("PythonMod(Symbol('s0'), Symbol('s1'))"), Dim::mod(s0, s1));
  EXPECT_EQ(parse("ModularIndexing(Symbol('s0'), Integer(2), Integer(3))"),
            Dim::mod(Dim::floordiv(s0, 2), 3));
  EXPECT_EQ(parse("FloorDiv(Integer(-7), Integer(2))"), Dim(-4));
}

TEST(SymbolicExpression, MinimaAndMaxima) {
  EXPECT_EQ(parse("Max(Integer(1), Symbol('s0'))"), Dim::max(1, s0));
  EXPECT_EQ(parse("Min(Symbol('s0'), Symbol('s1'), Integer(4))"), Dim::min(Dim::min(s0, s1), 4));
  EXPECT_EQ(parse("Identity(Symbol('s0'))"), s0);
}

TEST(SymbolicExpression, CollectsSymbols) {
  const auto expression =
      parse_symbolic_expression("Add(FloorDiv(Symbol('s1'), Symbol('s0')), Symbol('s1'))");
  EXPECT_THAT(expression.symbols, ElementsAre("s1", "s0"));
}

TEST(SymbolicExpression, WhatNoDimHoldsIsASymbol) {
  const auto whole =
      parse_symbolic_expression("Mul(Float('0.5', precision=53), Symbol('s0', integer=True))");
  EXPECT_THAT(whole.unknown, ElementsAre("Mul(0.5, s0)"));
  EXPECT_EQ(whole.dim, Dim::symbol("Mul(0.5, s0)"));
  EXPECT_THAT(whole.symbols, ElementsAre("s0"));
  // Only the part that we cannot compute; so sizes that share it stay comparable.
  const auto part = parse_symbolic_expression(
      "Mul(Integer(6), TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s0')))))");
  EXPECT_EQ(part.dim, Dim(6) * Dim::symbol("TruncToInt(Mul(1.5, ToFloat(s0)))"));
  EXPECT_EQ(parse_symbolic_expression("Pow(Symbol('s0'), Integer(-1))").unknown.size(), 1U);
  EXPECT_EQ(parse_symbolic_expression("Rational(1, 2)").unknown.size(), 1U);
  EXPECT_EQ(parse_symbolic_expression("true").unknown.size(), 1U);
}

TEST(SymbolicExpression, RefusesWhatIsNoExpression) {
  for (const std::string text :
       {"", " ", "(", "Symbol(", "Symbol('s0'", "Symbol('s0", "Symbol('s0') x", "Add(,)", "s0 + s1",
        "Integer(2))", "Integer(1 2)", "Integer(x=)", "lambda: 0", "Add(Integer(1) Integer(2))"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_symbolic_expression(text), Error);
  }
}

TEST(SymbolicExpression, RefusesWhatIsWrong) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_symbolic_expression(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidFile);
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(message("FloorDiv(Integer(1), Integer(0))"), HasSubstr("divided by zero"));
  EXPECT_THAT(message("Mod(Integer(1), Integer(0))"), HasSubstr("divided by zero"));
  EXPECT_THAT(message("Mul(Integer(9223372036854775807), Integer(2))"), HasSubstr("64 bits"));
  EXPECT_THAT(message("Integer(9223372036854775808)"), HasSubstr("64-bit"));
  EXPECT_THAT(message("Integer(1.5)"), HasSubstr("64-bit"));
}

std::string repeated(const std::string& head, int depth, const std::string& inner) {
  std::string text = inner;
  for (int i = 0; i < depth; ++i) text = head + "(" + text + ", Integer(2))";
  return text;
}

TEST(SymbolicExpression, StaysWithinBounds) {
  EXPECT_NO_THROW(parse_symbolic_expression(repeated("Add", 50, "Symbol('s0')")));
  EXPECT_THROW(parse_symbolic_expression(repeated("Add", 100, "Symbol('s0')")), Error);
  EXPECT_THROW(parse_symbolic_expression(std::string(60000, '(')), Error);
  EXPECT_THROW(parse_symbolic_expression(std::string(1 << 17, ' ')), Error);
  // Squares of squares, and products of sums: small to write, huge when multiplied out.
  EXPECT_THROW(parse_symbolic_expression(repeated("Pow", 20, "Add(Symbol('s0'), Symbol('s1'))")),
               Error);
  std::string product = "Mul(Integer(1)";
  for (int i = 0; i < 40; ++i) {
    product += ", Add(Symbol('a" + std::to_string(i) + "'), Integer(1))";
  }
  EXPECT_THROW(parse_symbolic_expression(product + ")"), Error);
  EXPECT_THROW(parse_symbolic_expression(
                   repeated("FloorDiv", 40, "Pow(Add(Symbol('s0'), Symbol('s1')), Integer(60))")),
               Error);
}

}  // namespace
}  // namespace unfuse::pt2
