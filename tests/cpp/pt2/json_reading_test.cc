#include "pt2/json_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using testing::ElementsAre;

JsonDocument parse(const std::string& text) { return JsonDocument(text, "file.pt2", "a.json"); }

template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidFile);
    EXPECT_EQ(error.where(), "file.pt2");
    return error.message();
  }
  return "no error";
}

TEST(Json, Values) {
  const JsonDocument document = parse(R"({"a": [1, -2, 2.5, "text", true, null], "b": {}})");
  const Json list = document.root().at("a");
  EXPECT_EQ(list.size(), 6U);
  EXPECT_EQ(list.at(0).integer(), 1);
  EXPECT_EQ(list.at(1).integer(), -2);
  EXPECT_EQ(list.at(2).number(), 2.5);
  EXPECT_EQ(list.at(0).number(), 1.0);
  EXPECT_EQ(list.at(3).string(), "text");
  EXPECT_TRUE(list.at(4).boolean());
  EXPECT_TRUE(list.at(5).is_null());
  EXPECT_THAT(document.root().keys(), ElementsAre("a", "b"));
  EXPECT_FALSE(document.root().find("c").has_value());
}

TEST(Json, NumbersThatJsonLacks) {
  const JsonDocument document = parse(R"(["Infinity", "-Infinity", "NaN", "other"])");
  EXPECT_EQ(document.root().at(0).number(), INFINITY);
  EXPECT_EQ(document.root().at(1).number(), -INFINITY);
  EXPECT_TRUE(std::isnan(document.root().at(2).number()));
  EXPECT_THROW(document.root().at(3).number(), Error);
}

TEST(Json, NullIsNotFound) { EXPECT_FALSE(parse(R"({"a": null})").root().find("a").has_value()); }

TEST(Json, ErrorsNameThePlace) {
  const JsonDocument document = parse(R"({"a": {"b": [0, {"c": "text"}]}})");
  const Json inner = document.root().at("a").at("b").at(1).at("c");
  EXPECT_EQ(error_of([&] { inner.integer(); }),
            "'a.json' at a.b[1].c: expected an integer, found a value of type string");
  EXPECT_EQ(error_of([&] { document.root().at("z"); }),
            "'a.json' at the top level: 'z' is missing");
  EXPECT_EQ(error_of([&] { document.root().at("a").at("b").at(7); }),
            "'a.json' at a.b: has no element 7");
  EXPECT_EQ(error_of([&] { document.root().integer(); }),
            "'a.json' at the top level: expected an integer, found an object of 1 keys");
}

TEST(Json, IntegersStayWithin64Bits) {
  const JsonDocument document =
      parse("[9223372036854775807, -9223372036854775808, 9223372036854775808, 1e30, 1.0]");
  EXPECT_EQ(document.root().at(0).integer(), INT64_MAX);
  EXPECT_EQ(document.root().at(1).integer(), INT64_MIN);
  for (const std::size_t index : {2U, 3U, 4U}) {
    EXPECT_THROW(document.root().at(index).integer(), Error);
  }
  EXPECT_THROW(parse("[1e999]"), Error);
}

TEST(Json, Depth) {
  EXPECT_NO_THROW(parse(std::string(200, '[') + std::string(200, ']')));
  EXPECT_THROW(parse(std::string(201, '[') + std::string(201, ']')), Error);
  EXPECT_NO_THROW(parse("[\"" + std::string(1000, '{') + "\\\"" + std::string(1000, '[') + "\"]"));
}

}  // namespace
}  // namespace unfuse::pt2
