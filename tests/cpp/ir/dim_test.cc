#include "ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "unfuse/error.h"

namespace unfuse {
namespace {

const Dim a = Dim::symbol("a");
const Dim b = Dim::symbol("b");

TEST(Dim, EqualPolynomialsHaveOneForm) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ((a + 1) * (a + 1), a * a + a * 2 + 1);
  EXPECT_EQ(a - a, Dim(0));
  EXPECT_EQ((a + b) * 2 - b * 2, a * 2);
  EXPECT_EQ(Dim::min(a, b), Dim::min(b, a));
  EXPECT_NE(a, b);
  EXPECT_NE(a + 1, a);
}

TEST(Dim, PrintsReadably) {
  EXPECT_EQ((a * b * 2 - b + 3).to_string(), "2*a*b - b + 3");
  EXPECT_EQ((a * -1).to_string(), "-a");
  EXPECT_EQ(Dim(7).to_string(), "7");
  EXPECT_EQ(Dim::floordiv(a + 1, 2).to_string(), "floordiv(a + 1, 2)");
}

TEST(Dim, DivisionFoldsWhereItIsExact) {
  EXPECT_EQ(Dim::floordiv(a * 6, 3), a * 2);
  EXPECT_EQ(Dim::floordiv(a * b * 4, a * 2), b * 2);
  EXPECT_EQ(Dim::floordiv(-7, 2), Dim(-4));
  EXPECT_EQ(Dim::mod(-7, 2), Dim(1));
  EXPECT_EQ(Dim::mod(a * 8, 4), Dim(0));
  EXPECT_EQ(Dim::floordiv(a, 1), a);
  EXPECT_FALSE((a + 1).exact_quotient(2).has_value());
  EXPECT_EQ((a * b + a).exact_quotient(a), b + 1);
}

TEST(Dim, EvaluatesAndNamesTheMissingSymbol) {
  const Dim dim = Dim::max(Dim::floordiv(a, 2), Dim::mod(b, 5)) + a;
  EXPECT_EQ(dim.evaluate({{"a", 7}, {"b", 9}}), 11);
  try {
    dim.evaluate({{"a", 7}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("b"), std::string::npos);
  }
  EXPECT_THROW(Dim::floordiv(a, b).evaluate({{"a", 1}, {"b", 0}}), Error);
}

TEST(Dim, OverflowIsAnError) {
  EXPECT_THROW(Dim(INT64_MAX) + Dim(1), Error);
  EXPECT_THROW(Dim(INT64_MAX) * Dim(2), Error);
  EXPECT_THROW((a * INT64_MAX) * Dim(2), Error);
  EXPECT_THROW((a * a).evaluate({{"a", INT64_MAX}}), Error);
}

TEST(Dim, ComparingKnowsWhatTheRangesTell) {
  const SymbolRanges ranges = {{"a", {1, 64}}, {"b", {100, INT64_MAX}}};
  EXPECT_EQ(equal(a + 1, a + 1), Answer::kYes);
  EXPECT_EQ(equal(a, a + 1), Answer::kNo);
  EXPECT_EQ(equal(a, b), Answer::kUnknown);
  EXPECT_EQ(equal(a, b, ranges), Answer::kNo);
  EXPECT_EQ(less_equal(a, b, ranges), Answer::kYes);
  EXPECT_EQ(less_equal(a * 2, a, ranges), Answer::kNo);
  EXPECT_EQ(less_equal(a, Dim(32), ranges), Answer::kUnknown);
  EXPECT_EQ(less_equal(Dim::mod(a, 8), Dim(7), ranges), Answer::kYes);
  EXPECT_EQ(less_equal(Dim::floordiv(a, 8), Dim(8), ranges), Answer::kYes);
}

TEST(Dim, SubstituteReachesIntoAtoms) {
  const Dim dim = Dim::floordiv(a + b, 2) * a;
  EXPECT_EQ(dim.substitute({{"a", 3}, {"b", 5}}), Dim(12));
  EXPECT_EQ(dim.substitute({{"b", a}}), a * a);
}

// Arithmetic on Dims and arithmetic on their values agree.
TEST(Dim, AgreesWithIntegersOnRandomExpressions) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const SymbolValues values = {{"a", static_cast<std::int64_t>(random() % 50) + 1},
                                 {"b", static_cast<std::int64_t>(random() % 50) + 1}};
    Dim dim = a;
    std::int64_t expected = values.at("a");
    for (int step = 0; step < 6; ++step) {
      const bool symbolic = random() % 2 == 0;
      const std::int64_t number = static_cast<std::int64_t>(random() % 7) + 1;
      const Dim other = symbolic ? b : Dim(number);
      const std::int64_t value = symbolic ? values.at("b") : number;
      const std::int64_t floored =
          expected / value - (expected % value != 0 && expected < 0 ? 1 : 0);
      switch (random() % 6) {
        case 0:
          dim = dim + other, expected += value;
          break;
        case 1:
          dim = dim - other, expected -= value;
          break;
        case 2:
          if (std::abs(expected) < 100000) dim = dim * other, expected *= value;
          break;
        case 3:
          dim = Dim::floordiv(dim, other), expected = floored;
          break;
        case 4:
          dim = Dim::mod(dim, other), expected -= floored * value;
          break;
        default:
          dim = Dim::max(dim, other), expected = std::max(expected, value);
          break;
      }
      ASSERT_EQ(dim.evaluate(values), expected) << dim.to_string();
      const Range range = dim.range({{"a", {1, 50}}, {"b", {1, 50}}});
      ASSERT_LE(range.minimum, expected) << dim.to_string();
      ASSERT_GE(range.maximum, expected) << dim.to_string();
    }
  }
}

TEST(Dim, ABoundTakenTwiceIsTakenOnce) {
  const Dim least = Dim::min(a, b);
  EXPECT_EQ(Dim::min(least, b), least);
  EXPECT_EQ(Dim::min(a, least), least);
  EXPECT_EQ(Dim::max(Dim::max(a, b), a), Dim::max(a, b));
  EXPECT_EQ(less_equal(least, b), Answer::kYes);
  EXPECT_EQ(less_equal(a, Dim::max(a, b)), Answer::kYes);
}

}  // namespace
}  // namespace unfuse
