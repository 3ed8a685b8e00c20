#include "targets/cpu/fusion/pointwise_groups.h"

#include "fusion_testing.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

using testing::fused_steps;
using testing::Steps;

/// "%a %b -> %b; %c": groups of nodes by the names of their results, with what they store.
std::string groups_of(std::string_view text) {
  const Graph graph = testing::parse_graph(text);
  std::vector<const Node*> nodes;
  for (const Node* node : graph.nodes()) nodes.push_back(node);
  std::string found;
  for (const NodeGroup& group : group_pointwise(nodes, {})) {
    if (!found.empty()) found += "; ";
    for (const Node* node : group.nodes) {
      found += (node == group.nodes.front() ? "" : " ") + node->result()->name();
    }
    if (!group.stored.empty()) found += " ->";
    for (const Value* value : group.stored) found += " " + value->name();
  }
  return found;
}

/// Returns the steps, as fused_steps() does.
Steps expect_groups(std::string_view text, std::string_view groups) {
  EXPECT_EQ(groups_of(text), groups);
  return fused_steps(text);
}

TEST(PointwiseGroups, AChainIsOneStep) {
  const std::string text = R"(
    symbol s0 in [2, 64]
    input user %x: f32[s0, 4]
    input user %row: f32[4]
    %a = aten.mul.Scalar(%x, 2.5)
    %b = aten.add.Tensor(%a, %row)
    %c = aten.tanh.default(%b)
    %d = aten.mul.Tensor(%c, %a)
    output user %d
  )";
  EXPECT_EQ(expect_groups(text, "a b c d -> d"),
            Steps{"aten.mul.Scalar + aten.add.Tensor + aten.tanh.default + aten.mul.Tensor"});
}

TEST(PointwiseGroups, WhatOthersReadIsStored) {
  const std::string text = R"(
    input user %x: f32[5, 4]
    %a = aten.relu.default(%x)
    %b = aten.neg.default(%a)
    %sum = aten.sum.dim_IntList(%a, [1], True)
    output user %sum
    output user %b
  )";
  // The sum comes after the group's last node.
  expect_groups(text, "a b -> a b; sum");
}

TEST(PointwiseGroups, ReadersInBetweenKeepApart) {
  const std::string text = R"(
    input user %x: f32[5, 4]
    %a = aten.relu.default(%x)
    %sum = aten.sum.dim_IntList(%a, [1], True)
    %b = aten.neg.default(%a)
    %c = aten.add.Tensor(%b, %sum)
    output user %c
  )";
  expect_groups(text, "a; sum; b c -> c");
}

TEST(PointwiseGroups, SmallerTensorsAreNotComputedForEveryElement) {
  const std::string text = R"(
    input user %x: f32[5, 4]
    input user %row: f32[4]
    %a = aten.exp.default(%row)
    %b = aten.neg.default(%a)
    %c = aten.add.Tensor(%x, %b)
    %d = aten.relu.default(%c)
    output user %d
  )";
  expect_groups(text, "a b -> b; c d -> d");
}

TEST(PointwiseGroups, TwoGroupsThatReadOneValue) {
  const std::string text = R"(
    input user %x: f32[5, 4]
    %a = aten.exp.default(%x)
    %b = aten.neg.default(%a)
    %s = aten.sum.dim_IntList(%b, [1], True)
    %c = aten.mul.Tensor(%a, %s)
    %d = aten.relu.default(%c)
    output user %d
  )";
  expect_groups(text, "a b -> a b; s; c d -> d");
}

TEST(PointwiseGroups, MasksOfBools) {
  const std::string text = R"(
    input user %ids: i64[2, 6]
    input user %other: f32[2, 6]
    %pad = aten.eq.Scalar(%ids, 0)
    %far = aten.gt.Scalar(%other, 0.5)
    %both = aten.add.Tensor(%pad, %far)
    %not = aten.logical_not.default(%both)
    %float = aten._to_copy.default(%not, dtype=float32)
    %minus = aten.rsub.Scalar(%float, 1.0)
    %mask = aten.mul.Scalar(%minus, -10000.0)
    %count = aten.mul.Tensor(%both, %ids)
    output user %mask
    output user %both
    output user %count
  )";
  // A sum of bools is true or false again before something else reads it.
  expect_groups(text, "pad far both not float minus mask -> both mask; count");
}

TEST(PointwiseGroups, IntegersThatWrapAroundEndAGroup) {
  const std::string text = R"(
    input user %x: u8[4, 9]
    %a = aten.mul.Tensor(%x, %x)
    %b = aten.add.Scalar(%a, 100)
    %c = aten.gt.Scalar(%b, 50)
    %d = aten.logical_not.default(%c)
    output user %d
  )";
  expect_groups(text, "a; b; c d -> d");
}

TEST(PointwiseGroups, RoundingToSixteenBitsStays) {
  const std::string text = R"(
    input user %x: f32[40]
    %a = aten.mul.Scalar(%x, 1.001)
    %half = aten._to_copy.default(%a, dtype=float16)
    %wide = aten._to_copy.default(%half, dtype=float32)
    %b = aten.mul.Scalar(%wide, 1000.0)
    %narrow = aten._to_copy.default(%b, dtype=bfloat16)
    %out = aten._to_copy.default(%narrow, dtype=float64)
    output user %out
  )";
  EXPECT_EQ(fused_steps(text, 0).size(), 1U);
}

TEST(PointwiseGroups, DtypesMixed) {
  const std::string text = R"(
    input user %i: i64[3, 5]
    input user %f: f32[3, 5]
    input user %d: f64[3, 5]
    %sum = aten.add.Tensor(%i, %f)
    %wide = aten.mul.Tensor(%sum, %d)
    %positive = aten.gt.Tensor(%wide, %i)
    %chosen = aten.where.self(%positive, %wide, %f)
    %nan = aten.isnan.default(%chosen)
    %number = aten._to_copy.default(%nan, dtype=int64)
    %total = aten.add.Tensor(%number, %i)
    output user %total
    output user %chosen
  )";
  EXPECT_EQ(fused_steps(text).size(), 1U);
}

TEST(PointwiseGroups, ViewsAndOtherOpsStandBetween) {
  const std::string text = R"(
    input user %x: f32[3, 5]
    %a = aten.neg.default(%x)
    %t = aten.permute.default(%a, [1, 0])
    %b = aten.exp.default(%t)
    %c = aten.prelu.default(%b, %b1)
    output user %c
  )";
  std::string with_weight = text;
  with_weight.insert(with_weight.find("    %a"), "    input user %b1: f32[1]\n");
  expect_groups(with_weight, "a; t; b; c");
}

TEST(PointwiseGroups, LongChainsAreCut) {
  std::string text = "input user %x: f32[700]\n%a0 = aten.neg.default(%x)\n";
  for (int i = 1; i < 70; ++i) {
    text +=
        "%a" + std::to_string(i) + " = aten.mul.Scalar(%a" + std::to_string(i - 1) + ", 1.01)\n";
  }
  text += "output user %a69\n";
  EXPECT_EQ(fused_steps(text).size(), 3U);
}

TEST(PointwiseGroups, PreparedValuesThatAreKept) {
  // The narrow weight is packed, the wide one added to: both are kept, though one reads the other.
  const std::string text = R"(
    input user %x: f32[4, 6]
    input parameter %w: f32[8, 6]
    %scaled = aten.mul.Scalar(%w, 2.0)
    %narrow = aten._to_copy.default(%scaled, dtype=float16)
    %wide = aten._to_copy.default(%narrow, dtype=float32)
    %linear = aten.linear.default(%x, %wide)
    %plus = aten.add.Scalar(%wide, 1.0)
    %row = aten.select.int(%plus, 1, 0)
    %out = aten.mul.Tensor(%linear, %row)
    output user %out
  )";
  fused_steps(text);
}

/// Random graphs of pointwise ops over tensors of some dtypes and two sizes.
std::string random_graph(std::mt19937& generator) {
  struct Op {
    const char* name;
    int operands;
    const char* rest;
  };
  const Op ops[] = {{"aten.add.Tensor", 2, ""},
                    {"aten.mul.Tensor", 2, ""},
                    {"aten.sub.Tensor", 2, ""},
                    {"aten.maximum.default", 2, ""},
                    {"aten.gt.Tensor", 2, ""},
                    {"aten.le.Scalar", 1, ", 1"},
                    {"aten.logical_not.default", 1, ""},
                    {"aten.abs.default", 1, ""},
                    {"aten.sigmoid.default", 1, ""},
                    {"aten.mul.Scalar", 1, ", 0.5"},
                    {"aten._to_copy.default", 1, ", dtype=bool"},
                    {"aten._to_copy.default", 1, ", dtype=float32"},
                    {"aten._to_copy.default", 1, ", dtype=float64"},
                    {"aten.logical_and.default", 2, ""}};
  std::string text =
      "input user %v0: f32[3, 7]\ninput user %v1: i64[3, 7]\ninput user %v2: b8[3, 7]\n"
      "input user %v3: u8[3, 7]\ninput user %v4: f32[7]\ninput user %v5: f64[3, 1]\n";
  int count = 6;
  for (int made = 0; made < 12; ++made) {
    const Op& op = ops[generator() % std::size(ops)];
    std::string line = "%v" + std::to_string(count) + " = " + op.name + "(";
    for (int i = 0; i < op.operands; ++i) {
      // Half of the time one of the last, so that chains come about.
      const int back = static_cast<int>(generator() % 2 == 0 ? generator() % 3 : generator());
      line += (i == 0 ? "%v" : ", %v") + std::to_string(count - 1 - std::abs(back) % count);
    }
    line += std::string(op.rest) + ")\n";
    try {
      testing::parse_graph(text + line);
    } catch (const std::exception&) {
      continue;  // abs of a bool and the like
    }
    text += line;
    ++count;
  }
  for (int i = 6; i < count; ++i) {
    if (i == count - 1 || generator() % 4 == 0) text += "output user %v" + std::to_string(i) + "\n";
  }
  return text;
}

TEST(PointwiseGroups, RandomGraphsGiveTheSame) {
  std::mt19937 generator(7);
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_graph(generator);
    try {
      fused_steps(text, 1e-6);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what() << "\n" << text;
    }
    ASSERT_FALSE(HasFailure()) << text;
  }
}

}  // namespace
}  // namespace unfuse::cpu
