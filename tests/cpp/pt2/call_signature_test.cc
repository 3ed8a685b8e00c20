#include "pt2/call_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using testing::ElementsAre;

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string node(const std::string& type, const std::string& context, const std::string& children) {
  return R"({"type": ")" + type + R"(", "context": )" + context + R"(, "children_spec": [)" +
         children + "]}";
}

std::string tuple(const std::string& children) {
  return node("builtins.tuple", R"("null")", children);
}

PyTree parse(const std::string& tree, const NamedTupleFields& fields = {}) {
  return parse_pytree("[1, " + tree + "]", fields);
}

TEST(CallSignature, LeavesAndTuples) {
  EXPECT_EQ(parse(kLeaf).kind, PyTree::Kind::kLeaf);
  const PyTree tree = parse(tuple(kLeaf + ", " + tuple(kLeaf + ", " + kLeaf)));
  EXPECT_EQ(tree.kind, PyTree::Kind::kTuple);
  EXPECT_EQ(tree.leaf_count(), 3U);
  EXPECT_THAT(result_leaf_names(tree), ElementsAre("output[0]", "output[1][0]", "output[1][1]"));
  EXPECT_THAT(result_leaf_names(parse(kLeaf)), ElementsAre("output"));
}

TEST(CallSignature, Dicts) {
  const PyTree plain = parse(node("builtins.dict", R"("[\"a\", 3]")", kLeaf + ", " + kLeaf));
  EXPECT_THAT(result_leaf_names(plain), ElementsAre("output['a']", "output[3]"));
  const PyTree ordered = parse(node("collections.OrderedDict", R"("[\"a\"]")", kLeaf));
  EXPECT_THAT(result_leaf_names(ordered), ElementsAre("output['a']"));
  const PyTree defaults = parse(node("collections.defaultdict",
                                     R"({"default_factory_module": "builtins",
                                        "default_factory_name": "int",
                                        "dict_context": ["b"]})",
                                     kLeaf));
  EXPECT_THAT(result_leaf_names(defaults), ElementsAre("output['b']"));
  EXPECT_TRUE(parse(node("builtins.dict", R"("[]")", "")).children.empty());
}

TEST(CallSignature, NamedTuples) {
  const std::string tree = node("collections.namedtuple", R"("m.Pair")", kLeaf + ", " + kLeaf);
  EXPECT_THAT(result_leaf_names(parse(tree, {{"m.Pair", {"left", "right"}}})),
              ElementsAre("output.left", "output.right"));
  EXPECT_EQ(parse(tree).kind, PyTree::Kind::kOther);
  EXPECT_THAT(result_leaf_names(parse(tree)), ElementsAre("output[0]", "output[1]"));
}

TEST(CallSignature, ClassesThatOnlyPythonKnows) {
  const PyTree tree = parse(node("transformers.DynamicCache", R"("anything (at all")", kLeaf));
  EXPECT_EQ(tree.kind, PyTree::Kind::kOther);
  EXPECT_EQ(tree.type, "transformers.DynamicCache");
  EXPECT_EQ(tree.leaf_count(), 1U);
}

TEST(CallSignature, NamesOfArguments) {
  const std::string keywords =
      node("builtins.dict", R"("[\"mask\", \"options\"]")", kLeaf + ", " + tuple(kLeaf));
  const PyTree call = parse(tuple(tuple(kLeaf + ", " + tuple(kLeaf)) + ", " + keywords));
  EXPECT_THAT(argument_leaf_names(call, {"x", "states", "mask", "options"}),
              ElementsAre("x", "states[0]", "mask", "options[0]"));
  EXPECT_THAT(argument_leaf_names(call, {"x"}),
              ElementsAre("x", "args[1][0]", "mask", "options[0]"));
  EXPECT_THAT(argument_leaf_names(parse(kLeaf), {}), ElementsAre("args"));
}

TEST(CallSignature, RefusesWhatIsNoSpec) {
  for (const std::string spec :
       {"", "[]", "[1]", "[2, {}]", "[1, {}]", "{}", "[1, 2]", "[1, {\"type\": 1}]"}) {
    SCOPED_TRACE(spec);
    EXPECT_THROW(parse_pytree(spec, {}), Error);
  }
  EXPECT_THROW(parse(node("builtins.dict", R"("[\"a\"]")", "")), Error);
  EXPECT_THROW(parse(node("builtins.dict", R"("[]")", kLeaf)), Error);
  EXPECT_THROW(parse(node("builtins.dict", R"("[")", kLeaf)), Error);
  EXPECT_THROW(parse(node("collections.namedtuple", R"("m.Pair")", kLeaf + ", " + kLeaf),
                     {{"m.Pair", {"left"}}}),
               Error);
  std::string deep = kLeaf;
  for (int i = 0; i < 500; ++i) deep = tuple(deep);
  EXPECT_THROW(parse(deep), Error);
}

}  // namespace
}  // namespace unfuse::pt2
