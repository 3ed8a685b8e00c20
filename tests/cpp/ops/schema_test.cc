#include "ir/schema.h"

#include <gtest/gtest.h>

#include <limits>

#include "unfuse/error.h"

namespace unfuse {
namespace {

TEST(Schema, ReadsNamesTypesAndDefaults) {
  const Schema schema =
      parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  ASSERT_EQ(schema.arguments.size(), 3u);
  EXPECT_EQ(schema.arguments[0].name, "self");
  EXPECT_EQ(schema.arguments[1].type, SchemaType::kTensor);
  EXPECT_FALSE(schema.arguments[1].keyword_only);
  EXPECT_TRUE(schema.arguments[2].keyword_only);
  EXPECT_EQ(schema.arguments[2].type, SchemaType::kScalar);
  EXPECT_EQ(schema.arguments[2].default_value, Argument(1));
  ASSERT_EQ(schema.returns.size(), 1u);
  EXPECT_FALSE(schema.mutates());
  EXPECT_FALSE(schema.aliases());
  EXPECT_EQ(schema.index_of("other"), 1);
  EXPECT_EQ(schema.index_of("nobody"), -1);
}

TEST(Schema, ReadsAliasesAndMutation) {
  const Schema view =
      parse_schema("(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
  EXPECT_TRUE(view.aliases());
  EXPECT_FALSE(view.mutates());
  EXPECT_EQ(view.arguments[0].alias_set, "a");
  EXPECT_TRUE(view.returns[0].list);
  EXPECT_EQ(view.returns[0].alias_set, "a");

  const Schema fill = parse_schema("(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)");
  EXPECT_TRUE(fill.mutates());
  EXPECT_TRUE(fill.arguments[0].mutated);
  EXPECT_FALSE(fill.arguments[1].mutated);
  EXPECT_TRUE(fill.returns[0].mutated);
}

TEST(Schema, ReadsLists) {
  const Schema schema = parse_schema(
      "(Tensor self, int[2] kernel, int[2] stride=[], int[2] padding=0, SymInt[1]? size=None, "
      "Tensor?[] indices, float[]? scales=None, bool[3] mask) -> (Tensor out, SymInt[] sizes)");
  EXPECT_EQ(schema.arguments[1].list_size, 2);
  EXPECT_EQ(schema.arguments[2].default_value, Argument(Argument::Ints{}));
  EXPECT_EQ(schema.arguments[3].default_value, Argument::ints({0, 0}));
  EXPECT_TRUE(schema.arguments[4].optional);
  EXPECT_TRUE(schema.arguments[4].list);
  EXPECT_TRUE(schema.arguments[5].optional_elements);
  EXPECT_FALSE(schema.arguments[5].optional);
  EXPECT_EQ(schema.arguments[7].type, SchemaType::kBool);
  ASSERT_EQ(schema.returns.size(), 2u);
  EXPECT_TRUE(schema.returns[1].list);
  EXPECT_EQ(schema.returns[1].type, SchemaType::kInt);
}

TEST(Schema, ReadsEveryKindOfDefault) {
  const Schema schema = parse_schema(
      "(float a=1e-05, float b=-inf, Scalar c=0.5, Scalar d=-2, bool e=True, str f=\"none\", "
      "str? g=None, MemoryFormat h=contiguous_format, ScalarType i=long, "
      "int j=9223372036854775807, float[2] k=[0.5, 1]) -> ()");
  const auto& arguments = schema.arguments;
  EXPECT_EQ(arguments[0].default_value, Argument(1e-05));
  EXPECT_EQ(arguments[1].default_value, Argument(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(arguments[2].default_value, Argument(0.5));
  EXPECT_EQ(arguments[3].default_value, Argument(-2));
  EXPECT_EQ(arguments[4].default_value, Argument(true));
  EXPECT_EQ(arguments[5].default_value, Argument("none"));
  EXPECT_TRUE(arguments[6].default_value.is_none());
  EXPECT_TRUE(arguments[6].has_default);
  EXPECT_EQ(arguments[7].default_value, Argument(MemoryFormat::kContiguous));
  EXPECT_EQ(arguments[8].default_value, Argument(DType::kInt64));
  EXPECT_EQ(arguments[9].default_value, Argument(std::int64_t{9223372036854775807}));
  EXPECT_EQ(arguments[10].default_value, Argument(Argument::Floats{0.5, 1}));
  EXPECT_TRUE(schema.returns.empty());
}

TEST(Schema, SaysWhereItFails) {
  for (const char* text :
       {"", "(", "(Tensor)", "(Tensor self) -> ", "(Tensor self -> Tensor", "(int a=x) -> ()",
        "(str a='x) -> ()", "(Tensor(a self) -> ()", "(Tensor self) -> Tensor extra"}) {
    try {
      parse_schema(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal);
      EXPECT_NE(std::string(error.what()).find("position"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace unfuse
