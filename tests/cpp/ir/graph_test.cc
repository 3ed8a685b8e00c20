#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

// Two ops of the test's own: the graph must not care what an op is.
Op unary(const std::string& name) {
  Op op;
  op.id = 0;
  op.name = name;
  op.schema.arguments.push_back({.name = "self", .type = SchemaType::kTensor});
  op.schema.returns.push_back({});
  return op;
}

Op joining() {
  Op op;
  op.id = 1;
  op.name = "test.join.default";
  op.schema.arguments.push_back({.name = "tensors", .type = SchemaType::kTensor, .list = true});
  op.schema.arguments.push_back(
      {.name = "dim", .type = SchemaType::kInt, .has_default = true, .default_value = Argument(0)});
  op.schema.returns.push_back({});
  return op;
}

class GraphTest : public testing::Test {
 protected:
  Value* input(const std::string& name) {
    GraphInput declared;
    declared.target = name;
    return graph_.add_input(name, type_, declared);
  }
  Node* node(const Op& op, Arguments arguments, Node* before = nullptr) {
    return graph_.create_node(op, std::move(arguments), {type_}, before);
  }

  const Op first_ = unary("test.first.default");
  const Op second_ = unary("test.second.default");
  const Op join_ = joining();
  const TensorType type_ = TensorType::contiguous(DType::kFloat32, {2, Dim::symbol("s0")});
  Graph graph_;
};

TEST_F(GraphTest, PrintsWhatItHolds) {
  Value* x = input("x");
  Value* y = node(first_, {x})->result();
  Value* z = node(join_, {Argument::Tensors{x, y}, 1})->result();
  graph_.add_output({.value = z});
  graph_.symbols["s0"] = {2, 512};
  verify(graph_);
  EXPECT_EQ(print(graph_),
            "symbol s0 in [2, 512]\n"
            "input user %x: f32[2, s0]\n"
            "%first: f32[2, s0] = test.first.default(%x)\n"
            "%join: f32[2, s0] = test.join.default([%x, %first], 1)\n"
            "output user %join\n");
}

TEST_F(GraphTest, ReplaceAllUsesReachesListsAndOutputs) {
  Value* x = input("x");
  Value* y = node(first_, {x})->result();
  Node* join = node(join_, {Argument::Tensors{y, x, y}, 0});
  graph_.add_output({.value = y});
  EXPECT_EQ(y->use_count(), 2U);

  graph_.replace_all_uses(y, x);
  EXPECT_EQ(y->use_count(), 0U);
  EXPECT_EQ(join->argument(0).tensors(), (Argument::Tensors{x, x, x}));
  EXPECT_EQ(graph_.outputs()[0].value.value(), x);
  verify(graph_);

  graph_.erase(y->producer());
  EXPECT_EQ(graph_.node_count(), 1U);
  verify(graph_);
}

TEST_F(GraphTest, ErasingAUsedNodeIsRefused) {
  Value* y = node(first_, {input("x")})->result();
  node(second_, {y});
  EXPECT_THROW(graph_.erase(y->producer()), Error);
  verify(graph_);
}

TEST_F(GraphTest, NodesMayBeErasedAndInsertedWhileIterating) {
  Value* x = input("x");
  for (int i = 0; i < 5; ++i) node(first_, {x});
  for (Node* current : graph_.nodes()) {
    node(second_, {x}, current);
    graph_.erase(current);
  }
  EXPECT_EQ(graph_.node_count(), 5U);
  for (const Node* current : graph_.nodes()) EXPECT_TRUE(current->is("test.second.default"));
  verify(graph_);
}

TEST_F(GraphTest, NamesStayUnique) {
  Value* x = input("x");
  EXPECT_EQ(input("x")->name(), "x_1");
  Value* y = node(first_, {x})->result();
  graph_.rename(y, "x");
  EXPECT_EQ(y->name(), "x_2");
  verify(graph_);
}

TEST_F(GraphTest, VerifierFindsUseBeforeDefinition) {
  Value* x = input("x");
  Node* early = node(first_, {x});
  Node* late = node(second_, {early->result()});
  verify(graph_);
  graph_.move_before(late, early);
  EXPECT_THROW(verify(graph_, "shuffle"), Error);
}

TEST_F(GraphTest, VerifierFindsArgumentsThatDoNotFit) {
  Value* x = input("x");
  Node* join = node(join_, {Argument::Tensors{x}, 0});
  graph_.set_argument(join, 1, "last");
  try {
    verify(graph_, "rename");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("dim"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("rename"), std::string::npos) << error.what();
  }
}

TEST_F(GraphTest, ErasedInputsLeaveTheOthersInPlace) {
  input("x");
  Value* y = input("y");
  graph_.add_literal_input("flag", true);
  EXPECT_EQ(graph_.input_of(y)->target, "y");
  graph_.erase_input(0);
  EXPECT_EQ(y->index(), 0);
  EXPECT_EQ(graph_.inputs().size(), 2U);
  verify(graph_);
}

TEST_F(GraphTest, AMovedGraphKeepsItsNodes) {
  Value* x = input("x");
  Node* one = node(first_, {x});
  Node* two = node(second_, {one->result()});
  graph_.add_output({.value = two->result()});
  Graph moved = std::move(graph_);
  verify(moved);
  EXPECT_EQ(one->next(), two);
  EXPECT_EQ(two->next(), nullptr);
  EXPECT_EQ(one->previous(), nullptr);
  graph_ = std::move(moved);
  EXPECT_EQ(two->previous(), one);
}

TEST(Argument, TextsAreUnambiguous) {
  EXPECT_EQ(Argument(1.0).to_string(), "1.0");
  EXPECT_EQ(Argument(1).to_string(), "1");
  EXPECT_EQ(Argument(true).to_string(), "True");
  EXPECT_EQ(Argument("a\"b\n\x1b").to_string(), "\"a\\\"b\\n\\x1b\"");
  EXPECT_EQ(Argument().to_string(), "None");
  EXPECT_EQ(Argument(1e-5).to_string(), "1e-05");
  EXPECT_EQ(Argument::ints({1, -1}).to_string(), "[1, -1]");
  EXPECT_EQ(Argument(DType::kBFloat16).to_string(), "bfloat16");
}

TEST(Argument, AccessorsRefuseOtherKinds) {
  EXPECT_THROW(Argument(1.5).integer(), Error);
  EXPECT_EQ(Argument(true).integer(), 1);
  EXPECT_EQ(Argument(3).number(), 3.0);
  EXPECT_THROW(Argument(Dim::symbol("s0")).integer(), Error);
  EXPECT_THROW(Argument().value(), Error);
}

}  // namespace
}  // namespace unfuse
