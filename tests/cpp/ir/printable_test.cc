#include "ir/printable.h"

#include <gtest/gtest.h>

#include "unfuse/error.h"

namespace unfuse {
namespace {

TEST(Printable, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(printable("plain, größer, 東京"), "plain, größer, 東京");
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\r\n\tb\x7f"), "a\\x0d\\x0a\\x09b\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\x9b31m")
      << "the same in UTF-8";
  EXPECT_EQ(printable("\xc2\xa0\xc2"), "\xc2\xa0\xc2");
  EXPECT_EQ(printable("a\nb\x1b", true), "a\nb\\x1b");
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcde", 3), "abc... (2 more bytes)");
  EXPECT_EQ(shortened("aöö", 2), "a... (4 more bytes)");
}

TEST(Error, IsOneLineOfModerateLength) {
  const Error error(ErrorKind::kInvalidFile, "a\nb", std::string(1'000'000, 'x'), "c\x1b");
  const std::string what = error.what();
  EXPECT_LT(what.size(), 10'000U);
  EXPECT_NE(what.find(": a\\x0ab; c\\x1b"), std::string::npos);
  EXPECT_EQ(error.message(), "a\\x0ab");
}

}  // namespace
}  // namespace unfuse
