#include "targets/partition.h"

#include <gtest/gtest.h>

#include <set>

#include "compiled.h"
#include "ir/verify.h"
#include "ops/aten.h"
#include "ops/catalogue.h"

namespace unfuse {
namespace {

using testing::add_output;
using testing::add_parameter;
using testing::add_user_input;
namespace aten = ops::aten;

/// Takes every op but some.
class PickyTarget final : public Target {
 public:
  explicit PickyTarget(std::set<std::string> refused) : refused_(std::move(refused)) {}
  std::string name() const override { return "picky"; }
  bool has(const Op& /*op*/) const override { return true; }
  std::optional<std::string> refusal(const Node& node) const override {
    if (refused_.contains(node.op().name)) return "it does not like it";
    return std::nullopt;
  }

 private:
  std::set<std::string> refused_;
};

/// Operands of every piece are computed before it; every output has been computed at the end.
void check_order(const Graph& graph, const PartitionedGraph& partitioned) {
  std::set<int> known;
  for (int i = 0; i < static_cast<int>(graph.inputs().size()); ++i) known.insert(i);
  for (const Piece& piece : partitioned.pieces) {
    for (int slot : piece.input_slots) EXPECT_TRUE(known.contains(slot));
    for (int slot : piece.output_slots) known.insert(slot);
    if (!piece.on_target) continue;
    verify(piece.graph);
    EXPECT_EQ(piece.graph.inputs().size(), piece.input_slots.size());
    EXPECT_EQ(piece.graph.outputs().size(), piece.output_slots.size());
  }
  for (int slot : partitioned.output_slots) {
    if (slot >= 0) {
      EXPECT_TRUE(known.contains(slot));
    }
  }
}

std::vector<bool> sides(const PartitionedGraph& partitioned) {
  std::vector<bool> result;
  for (const Piece& piece : partitioned.pieces) result.push_back(piece.on_target);
  return result;
}

class PartitionTest : public ::testing::Test {
 protected:
  PartitionTest() : builder(graph, nullptr) {
    x = add_user_input(graph, "x", DType::kFloat32, {4, 4});
  }

  PartitionedGraph partition_without(std::set<std::string> refused) {
    PartitionedGraph result = partition(graph, PickyTarget(std::move(refused)), report);
    check_order(graph, result);
    return result;
  }

  Graph graph;
  Builder builder;
  Value* x;
  Report report;
};

TEST_F(PartitionTest, OnePieceWhenNothingIsRefused) {
  Value* weight = add_parameter(graph, "weight", testing::random_tensor({4, 4}));
  Value* left = aten::relu(builder, aten::matmul(builder, x, weight));
  Value* right = aten::exp(builder, x);  // not connected with the other
  add_output(graph, left);
  add_output(graph, right);
  const PartitionedGraph result = partition_without({});
  ASSERT_EQ(sides(result), (std::vector<bool>{true}));
  EXPECT_EQ(report.partitions, 1);
  EXPECT_TRUE(report.left_to_torch.empty());
}

/// Has nothing for sinc.
class TargetWithoutSinc final : public Target {
 public:
  std::string name() const override { return "without sinc"; }
  bool has(const Op& op) const override { return op.name != "aten.sinc.default"; }
  std::optional<std::string> refusal(const Node& node) const override {
    if (!has(node.op())) return "it has none";
    return std::nullopt;
  }
};

TEST_F(PartitionTest, OpsThatTheTargetDoesNotHaveComeAsWhatTheyAreComposedOf) {
  add_output(graph, builder.call(ops::get("aten.sinc.default"), {x}));
  const PartitionedGraph result = partition(graph, TargetWithoutSinc(), report);
  check_order(graph, result);
  EXPECT_EQ(sides(result), (std::vector<bool>{true}));
  EXPECT_TRUE(report.left_to_torch.empty());
}

TEST_F(PartitionTest, NeverJoinsAroundACycle) {
  // a -> exp (left) -> c, and a -> c directly: a and c are two pieces.
  Value* a = aten::relu(builder, x);
  Value* left = aten::exp(builder, a);
  add_output(graph, aten::add(builder, a, left));
  const PartitionedGraph result = partition_without({"aten.exp.default"});
  EXPECT_EQ(sides(result), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(report.partitions, 2);
}

TEST_F(PartitionTest, JoinsWhatNoCycleSeparates) {
  // exp (left) feeds only the end; all else is one piece before it and one after.
  Value* left = aten::exp(builder, x);
  Value* a = aten::relu(builder, x);
  Value* b = aten::neg(builder, aten::relu(builder, a));
  add_output(graph, b);
  add_output(graph, aten::add(builder, b, left));
  const PartitionedGraph result = partition_without({"aten.exp.default"});
  EXPECT_EQ(report.partitions, 2);
  EXPECT_EQ(result.pieces[0].graph.node_count(), 3u);
}

TEST_F(PartitionTest, GroupsLeftNodesByOpAndReason) {
  Value* value = x;
  for (int i = 0; i < 3; ++i) {
    builder.set_origin({"layers." + std::to_string(i), "model.py:" + std::to_string(i)});
    value = aten::exp(builder, value);
  }
  add_output(graph, value);
  const PartitionedGraph result = partition_without({"aten.exp.default"});
  EXPECT_EQ(sides(result), (std::vector<bool>{false, false, false}));
  ASSERT_EQ(report.left_to_torch.size(), 1u);
  EXPECT_EQ(report.left_to_torch[0].op, "aten.exp.default");
  EXPECT_EQ(report.left_to_torch[0].count, 3);
  EXPECT_EQ(report.left_to_torch[0].reason, "it does not like it");
  EXPECT_EQ(report.left_to_torch[0].module_path, "layers.0");
  EXPECT_EQ(report.left_to_torch[0].source, "model.py:0");
  EXPECT_EQ(report.partitions, 0);
}

TEST_F(PartitionTest, ParametersAndWhatDependsOnThemGoWithTheirUsers) {
  Value* weight = add_parameter(graph, "weight", testing::random_tensor({4, 4}));
  Value* turned = aten::t(builder, weight);
  Value* first = aten::matmul(builder, x, turned);
  Value* left = aten::exp(builder, first);
  add_output(graph, aten::matmul(builder, left, turned));
  const PartitionedGraph result = partition_without({"aten.exp.default"});
  ASSERT_EQ(sides(result), (std::vector<bool>{true, false, true}));
  for (const std::size_t i : {0, 2}) {
    const Graph& piece = result.pieces[i].graph;
    EXPECT_EQ(piece.node_count(), 2u);  // each has its own transpose
    int parameters = 0;
    for (const GraphInput& input : piece.inputs()) {
      parameters += input.kind == InputKind::kParameter && input.target == "weight";
    }
    EXPECT_EQ(parameters, 1);
  }
  EXPECT_EQ(result.pieces[2].input_slots.size(), 2u);
}

TEST_F(PartitionTest, WhatALeftNodeNeedsOfAParameterIsComputed) {
  Value* weight = add_parameter(graph, "weight", testing::random_tensor({4, 4}));
  Value* turned = aten::t(builder, weight);
  Value* left = aten::exp(builder, turned);
  add_output(graph, aten::add(builder, x, left));
  const PartitionedGraph result = partition_without({"aten.exp.default"});
  EXPECT_EQ(sides(result), (std::vector<bool>{true, false, true}));
}

TEST_F(PartitionTest, InputsAndConstantsAsOutputs) {
  Value* parameter = add_parameter(graph, "weight", testing::random_tensor({4}));
  add_output(graph, x);
  add_output(graph, parameter);
  add_output(graph, aten::relu(builder, x));
  GraphOutput none;
  graph.add_output(std::move(none));
  add_output(graph, aten::full(builder, {2}, 3.0));
  const PartitionedGraph result = partition_without({});
  ASSERT_EQ(result.output_slots.size(), 5u);
  EXPECT_EQ(result.output_slots[0], 0);
  EXPECT_EQ(result.output_slots[1], 1);
  EXPECT_EQ(result.output_slots[3], -1);
  EXPECT_EQ(report.partitions, 1);
}

TEST_F(PartitionTest, PiecesLearnTheSymbolsTheyUse) {
  Graph symbolic;
  symbolic.symbols["s0"] = {2, 100};
  const Dim s0 = Dim::symbol("s0");
  Value* y = add_user_input(symbolic, "y", DType::kFloat32, {s0, 4});
  Builder b(symbolic, nullptr);
  Value* flat = aten::reshape(b, y, {s0 * Dim(4)});
  Value* left = aten::exp(b, aten::mul(b, flat, flat));
  add_output(symbolic, aten::reshape(b, left, {s0, 2, 2}));
  Report unused;
  const PartitionedGraph result = partition(symbolic, PickyTarget({"aten.exp.default"}), unused);
  check_order(symbolic, result);
  ASSERT_EQ(result.pieces.size(), 3u);
  // The last piece gets 4*s0 elements and y, whose size tells s0.
  EXPECT_EQ(result.pieces[2].input_slots.size(), 2u);
  EXPECT_EQ(result.pieces[2].graph.symbols.at("s0").maximum, 100);
}

TEST_F(PartitionTest, OpaqueNodesKeepTheirOrder) {
  const Op& opaque =
      graph.opaque_op("custom.draw.default", parse_schema("(Tensor self) -> Tensor"));
  Value* first =
      graph.create_node(opaque, {aten::relu(builder, aten::exp(builder, x))}, {x->type()})
          ->result();
  Value* second = graph.create_node(opaque, {x}, {x->type()})->result();
  add_output(graph, second);
  add_output(graph, first);
  Report unused;
  const PartitionedGraph result =
      partition(graph, PickyTarget({"custom.draw.default", "aten.exp.default"}), unused);
  check_order(graph, result);
  std::vector<const Node*> left;
  for (const Piece& piece : result.pieces) {
    if (!piece.on_target && piece.node->op().opaque()) left.push_back(piece.node);
  }
  EXPECT_EQ(left, (std::vector<const Node*>{first->producer(), second->producer()}));
}

}  // namespace
}  // namespace unfuse
