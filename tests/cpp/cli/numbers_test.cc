#include "cli/numbers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

const char* const kNoNumbers[] = {"",   " ",  "-",     "+",     "+-1", "nan", "inf", "0x10", "3x",
                                  "3 ", " 3", "1_000", "1'000", "1,5", "e",   ".",   "1e",   "1e+"};

TEST(Numbers, WholeNumbersInTheirRange) {
  EXPECT_EQ(parse_whole("7", {1, 9}, "--x"), 7);
  EXPECT_EQ(parse_whole("+7", {1, 9}, "--x"), 7);
  EXPECT_EQ(parse_whole("007", {1, 9}, "--x"), 7);
  EXPECT_EQ(parse_whole("-7", {-9, 9}, "--x"), -7);
  EXPECT_EQ(parse_whole("9223372036854775807", {}, "--x"), INT64_MAX);
  EXPECT_EQ(parse_seed("18446744073709551615", "--x"), UINT64_MAX);
}

std::string refusal(const std::string& text, const Range& range) {
  try {
    return fmt::format("read as {}", parse_whole(text, range, "--x"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_EQ(error.where(), "--x");
    return fmt::format("{}; {}", error.message(), error.hint());
  }
}

TEST(Numbers, RefusalsSayWhichOfTheThreeItIs) {
  EXPECT_EQ(refusal("0", {1, 9}), "0 is too small; at least 1");
  EXPECT_EQ(refusal("10", {1, 9}), "10 is too large; at most 9");
  EXPECT_EQ(refusal("99999999999999999999", {1, 9}),
            "99999999999999999999 is too large; at most 9");
  EXPECT_EQ(refusal("-99999999999999999999", {1, 9}),
            "-99999999999999999999 is too small; at least 1");
  EXPECT_EQ(refusal("9223372036854775808", {}),
            "9223372036854775808 is too large; at most 9223372036854775807");
  for (const char* text : kNoNumbers) {
    EXPECT_EQ(refusal(text, {1, 9}), fmt::format("'{}' is not a whole number; ", text));
    EXPECT_THROW(parse_seed(text, "--x"), Error) << text;
  }
  EXPECT_THROW(parse_seed("-1", "--x"), Error);
  EXPECT_THROW(parse_seed("18446744073709551616", "--x"), Error);
}

TEST(Numbers, TolerancesAreFiniteAndNotNegative) {
  EXPECT_EQ(parse_tolerance("1e-4", "--x"), 1e-4);
  EXPECT_EQ(parse_tolerance(".5", "--x"), 0.5);
  EXPECT_EQ(parse_tolerance("2.", "--x"), 2);
  EXPECT_EQ(parse_tolerance("1E+3", "--x"), 1000);
  EXPECT_EQ(parse_tolerance("0", "--x"), 0);
  EXPECT_LT(parse_tolerance("1e-400", "--x"), 1e-300) << "too small to tell from 0";
  for (const char* text : kNoNumbers) EXPECT_THROW(parse_tolerance(text, "--x"), Error) << text;
  for (const char* text : {"-1", "-1e-9", "1e999", "-1e999", "infinity", "-nan", "1 2"}) {
    EXPECT_THROW(parse_tolerance(text, "--x"), Error) << text;
  }
}

}  // namespace
}  // namespace unfuse::cli
