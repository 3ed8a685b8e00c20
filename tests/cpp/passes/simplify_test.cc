#include <cmath>

#include "passes/pass_testing.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

using testing::after;

std::string simple(std::string_view text) { return after(simplify, text); }
std::string folded(std::string_view text) {
  return after(
      [](Graph& graph) {
        fold_constants(graph);
        simplify(graph);
      },
      text);
}

TEST(Simplify, ViewsOfViews) {
  EXPECT_EQ(simple(R"(
    input user %x: f32[2, 3, 4]
    %a = aten.reshape.default(%x, [6, 4])
    %b = aten.reshape.default(%a, [24])
    %c = aten.permute.default(%x, [2, 0, 1])
    %d = aten.permute.default(%c, [1, 2, 0])
    %e = aten.slice.Tensor(%b, 0, 4, 20)
    %f = aten.slice.Tensor(%e, 0, 1, 3)
    %g = aten.select.int(%e, 0, 2)
    %h = aten.relu.default(%d)
    output user %f
    output user %g
    output user %h
  )"),
            "%b = aten.reshape.default(%x, [24])\n"
            "%f = aten.slice.Tensor(%b, start=5, end=7)\n"
            "%g = aten.select.int(%b, 0, 6)\n"
            "%h = aten.relu.default(%x)\n"
            "output user %f\n"
            "output user %g\n"
            "output user %h\n");
}

TEST(Simplify, SlicesWhoseBoundsAreNotKnownStay) {
  // What s0 - s1 is may be negative, or count from the end.
  EXPECT_EQ(simple(R"(
    symbol s0 in [0, inf]
    symbol s1 in [0, inf]
    symbol u0 in [0, inf]
    input user %x: f32[s0]
    input user %y: f32[s1]
    %a = aten.slice.Tensor(%x, 0, s0-s1): f32[u0]
    %b = aten.slice.Tensor(%a, 0, None, s0): f32[u0]
    output user %b
  )"),
            "%a = aten.slice.Tensor(%x, start=s0 - s1)\n"
            "%b = aten.slice.Tensor(%a, end=s0)\n"
            "output user %b\n");
}

TEST(Simplify, SliceOfAllCountedFromTheEnd) {
  // Also where there is nothing: minus nothing is the beginning.
  EXPECT_EQ(simple(R"(
    symbol s0 in [0, inf]
    input user %x: f32[s0]
    %a = aten.slice.Tensor(%x, 0, -s0): f32[s0]
    %b = aten.relu.default(%a)
    output user %b
  )"),
            "%b = aten.relu.default(%x)\n"
            "output user %b\n");
}

TEST(Simplify, HeadsMergedWithTheBatchToBeMoved) {
  // As nn.MultiheadAttention takes its heads apart: [length, batch * heads, 4], then attention over
  // [batch, heads, length, 4].
  EXPECT_EQ(simple(R"(
    symbol s0 in [2, 64]
    input user %x: f32[5, s0, 8] strides [8*s0, 16, 1]
    %a = aten.reshape.default(%x, [5, 2*s0, 4])
    %b = aten.permute.default(%a, [1, 0, 2])
    %c = aten.reshape.default(%b, [s0, 2, 5, 4])
    %d = aten.reshape.default(%b, [2*s0, 20])
    output user %c
    output user %d
  )"),
            "%a = aten.reshape.default(%x, [5, 2*s0, 4])\n"
            "%b = aten.permute.default(%a, [1, 0, 2])\n"
            "%reshape = aten.reshape.default(%x, [5, s0, 2, 4])\n"
            "%c = aten.permute.default(%reshape, [1, 2, 0, 3])\n"
            "%d = aten.reshape.default(%b, [2*s0, 20])\n"
            "output user %c\n"
            "output user %d\n");
}

TEST(Simplify, DimensionsOfOneBetweenReshapes) {
  // As nn.MultiheadAttention takes its packed projection apart.
  EXPECT_EQ(simple(R"(
    input user %x: f32[5, 2, 48]
    %u = aten.reshape.default(%x, [1, 5, 2, 3, 16])
    %t = aten.permute.default(%u, [3, 1, 2, 0, 4])
    %s = aten.reshape.default(%t, [3, 5, 2, 16])
    %q = aten.select.int(%s, 0, 0)
    output user %q
  )"),
            "%reshape = aten.reshape.default(%x, [5, 2, 3, 16])\n"
            "%permute = aten.permute.default(%reshape, [2, 0, 1, 3])\n"
            "%q = aten.select.int(%permute, 0, 0)\n"
            "output user %q\n");
}

TEST(Simplify, ABatchOfOneStays) {
  const std::string text = simple(R"(
    input user %x: f32[1, 5, 16]
    %u = aten.reshape.default(%x, [1, 5, 2, 8])
    %t = aten.permute.default(%u, [0, 2, 1, 3])
    %r = aten.relu.default(%t)
    output user %r
  )");
  EXPECT_NE(text.find("aten.permute.default(%u, [0, 2, 1, 3])"), std::string::npos) << text;
}

TEST(Simplify, ArithmeticThatChangesNothing) {
  EXPECT_EQ(simple(R"(
    input user %x: f32[3]
    input user %i: i64[3]
    %a = aten.mul.Scalar(%x, 1)
    %b = aten.sub.Scalar(%a, 0.0)
    %c = aten.add.Scalar(%b, 0.0)   # -0.0 becomes 0.0: stays
    %d = aten.add.Scalar(%i, 0)
    %e = aten.mul.Scalar(%d, 1.0)   # becomes float: stays
    output user %c
    output user %e
  )"),
            "%c = aten.add.Scalar(%x, 0.0)\n"
            "%e = aten.mul.Scalar(%i, 1.0)\n"
            "output user %c\n"
            "output user %e\n");
}

TEST(Simplify, ConversionsThatLoseNothing) {
  EXPECT_EQ(simple(R"(
    input user %x: f16[3]
    %a = aten._to_copy.default(%x, dtype=float32)
    %b = aten._to_copy.default(%a, dtype=float16)
    %c = aten.relu.default(%b)
    input user %y: f32[3]
    %d = aten._to_copy.default(%y, dtype=float16)
    %e = aten._to_copy.default(%d, dtype=float32)
    output user %c
    output user %e
  )"),
            "%c = aten.relu.default(%x)\n"
            "%d = aten._to_copy.default(%y, dtype=float16)\n"
            "%e = aten._to_copy.default(%d, dtype=float32)\n"
            "output user %c\n"
            "output user %e\n");
}

TEST(Simplify, AMaskThatGoesThroughFloatsAndBack) {
  EXPECT_EQ(simple(R"(
    input user %m: b8[2, 5]
    %z = aten.full.default([2, 5], 0.0, dtype=float32)
    %f = aten.masked_fill.Scalar(%z, %m, -inf)
    %b = aten._to_copy.default(%f, dtype=bool)
    %n = aten.logical_not.default(%b)
    output user %n
  )"),
            "%n = aten.logical_not.default(%m)\n"
            "output user %n\n");
}

TEST(Simplify, MergesWhatIsComputedTwice) {
  EXPECT_EQ(simple(R"(
    input user %x: f32[3]
    %a = aten.relu.default(%x)
    %b = aten.relu.default(%x)
    %c = aten.add.Tensor(%a, %b)
    %r = aten.rand_like.default(%x)
    %s = aten.rand_like.default(%x)
    %d = aten.sub.Tensor(%r, %s)
    output user %c
    output user %d
  )"),
            "%a = aten.relu.default(%x)\n"
            "%c = aten.add.Tensor(%a, %a)\n"
            "%r = aten.rand_like.default(%x)\n"
            "%s = aten.rand_like.default(%x)\n"
            "%d = aten.sub.Tensor(%r, %s)\n"
            "output user %c\n"
            "output user %d\n");
}

TEST(Simplify, EveryOutputIsATensorOfItsOwn) {
  EXPECT_EQ(simple(R"(
    input user %x: f32[3]
    %a = aten.relu.default(%x)
    %b = aten.relu.default(%x)
    %c = aten.mul.Scalar(%x, 1)
    output user %a
    output user %b
    output user %c
  )"),
            "%a = aten.relu.default(%x)\n"
            "%b = aten.relu.default(%x)\n"
            "%clone = aten.clone.default(%x)\n"
            "output user %a\n"
            "output user %b\n"
            "output user %clone\n");
}

TEST(Simplify, ChoicesThatAreKnown) {
  EXPECT_EQ(simple(R"(
    input user %x: f32[3]
    input user %y: f32[1]
    %t = aten.full.default([3], True, dtype=bool)
    %f = aten.full.default([], False, dtype=bool)
    %a = aten.where.self(%t, %x, %y)
    %b = aten.where.self(%f, %x, %y)
    %c = aten.masked_fill.Scalar(%x, %t, 2.0)
    %d = aten.add.Tensor(%a, %b)
    output user %c
    output user %d
  )"),
            "%b = aten.expand.default(%y, [3])\n"
            "%c = aten.full.default([3], 2.0, dtype=float32)\n"
            "%d = aten.add.Tensor(%x, %b)\n"
            "output user %c\n"
            "output user %d\n");
}

TEST(Fold, NumbersThatSixteenBitsDoNotHoldAreLeftToTheTarget) {
  // 257 is 256 in bfloat16: which of the two it counts as depends on its side.
  EXPECT_EQ(folded(R"(
    %x = aten.full.default([2], 3.0, dtype=bfloat16)
    %a = aten.mul.Scalar(%x, 256)
    %b = aten.mul.Scalar(%x, 257)
    %c = aten.mul.Scalar(%x, 257.0)
    output user %a
    output user %b
    output user %c
  )"),
            "%x = aten.full.default([2], 3.0, dtype=bfloat16)\n"
            "%full = aten.full.default([2], 768.0, dtype=bfloat16)\n"
            "%b = aten.mul.Scalar(%x, 257)\n"
            "%c = aten.mul.Scalar(%x, 257.0)\n"
            "output user %full\noutput user %b\noutput user %c\n");
}

TEST(Fold, ATensorThatIsOneNumberBecomesIt) {
  EXPECT_EQ(folded(R"(
    input user %x: f32[3]
    input user %i: i64[3]
    input user %m: b8[3]
    %h = aten.full.default([], 0.5, dtype=float32)
    %a = aten.mul.Tensor(%x, %h)
    %b = aten.mul.Tensor(%i, %h)
    %w = aten.where.self(%m, %a, %h)
    %f = aten.masked_fill.Tensor(%w, %m, %h)
    %d = aten.full.default([3], 0.5, dtype=float64)
    %e = aten.mul.Tensor(%x, %d)   # float64 here: the number would not be
    output user %b
    output user %f
    output user %e
  )"),
            "%a = aten.mul.Scalar(%x, 0.5)\n"
            "%b = aten.mul.Scalar(%i, 0.5)\n"
            "%w = aten.where.ScalarOther(%m, %a, 0.5)\n"
            "%f = aten.masked_fill.Scalar(%w, %m, 0.5)\n"
            "%d = aten.full.default([3], 0.5, dtype=float64)\n"
            "%e = aten.mul.Tensor(%x, %d)\n"
            "output user %b\n"
            "output user %f\n"
            "output user %e\n");
}

TEST(Fold, WhatIsOneNumberEverywhereStaysAFull) {
  EXPECT_EQ(folded(R"(
    symbol s0 in [2, 64]
    %a = aten.full.default([s0, 4], 0.1, dtype=float32)
    %b = aten.add.Scalar(%a, 1)
    %c: f32[4*s0] = aten.reshape.default(%b, [4*s0])
    output user %c
  )"),
            "%full = aten.full.default([4*s0], 1.100000023841858, dtype=float32)\n"
            "output user %full\n");
}

TEST(Fold, SmallResultsBecomeConstants) {
  Graph graph = testing::parse_graph(R"(
    input user %x: f32[3, 3]
    %o = aten.full.default([3, 3], -inf, dtype=float32)
    %t = aten.triu.default(%o, 1)
    %a = aten.add.Tensor(%x, %t)
    output user %a
  )");
  fold_constants(graph);
  verify(graph, "fold_constants");
  ASSERT_EQ(graph.inputs().size(), 2u);
  const GraphInput& made = graph.inputs()[1];
  EXPECT_EQ(made.kind, InputKind::kConstant);
  const float* elements = made.data.data_as<float>();
  EXPECT_EQ(elements[0], 0.0F);
  EXPECT_EQ(elements[1], -HUGE_VALF);
  EXPECT_EQ(elements[3], 0.0F);
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST(Fold, RoundsAsTheDtypeDoes) {
  EXPECT_EQ(folded(R"(
    %a = aten.full.default([2], 1.0, dtype=float16)
    %b = aten.div.Scalar(%a, 3)
    %c = aten.full.default([2], 65504.0, dtype=float16)
    %d = aten.add.Tensor(%c, %c)
    output user %b
    output user %d
  )"),
            "%full = aten.full.default([2], 0.333251953125, dtype=float16)\n"
            "%full_1 = aten.full.default([2], inf, dtype=float16)\n"
            "output user %full\n"
            "output user %full_1\n");
}

TEST(Fold, WhatTheModelUpdatesIsNoConstant) {
  Graph graph = testing::parse_graph(R"(
    input constant %c: i64[]
    %a = aten.add.Scalar(%c, 1)
    output user %a
    output buffer mutation %a to c
  )");
  Tensor one = Tensor::empty(DType::kInt64, {});
  *one.data_as<std::int64_t>() = 1;
  graph.set_input_data(0, one);
  fold_constants(graph);
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST(OwnOutputs, AreNoViewsOfInputsOrOfEachOther) {
  EXPECT_EQ(after(own_outputs, R"(
    input user %x: f32[2, 3]
    input user %y: f32[2, 3]
    %a = aten.reshape.default(%x, [6])
    %b = aten.relu.default(%x)
    %c = aten.permute.default(%b, [1, 0])
    %d = aten.exp.default(%x)
    %e = aten.reshape.default(%d, [6])
    output user %a
    output user %b
    output user %c
    output user %e
    output user %x
    output input mutation %x to y
    output input mutation %y to x
  )"),
            "%a = aten.reshape.default(%x, [6])\n"
            "%b = aten.relu.default(%x)\n"
            "%c = aten.permute.default(%b, [1, 0])\n"
            "%d = aten.exp.default(%x)\n"
            "%e = aten.reshape.default(%d, [6])\n"
            "%clone = aten.clone.default(%a)\n"
            "%clone_1 = aten.clone.default(%c)\n"
            "%clone_2 = aten.clone.default(%x)\n"
            "%clone_3 = aten.clone.default(%y)\n"
            "output user %clone\n"
            "output user %b\n"
            "output user %clone_1\n"
            "output user %e\n"
            "output user %x\n"
            "output input mutation %clone_2 to y\n"
            "output input mutation %clone_3 to x\n");
}

TEST(DeadCode, GoesButInputsStay) {
  EXPECT_EQ(after(eliminate_dead_code, R"(
    input user %x: f32[3]
    %a = aten.relu.default(%x)
    %b = aten.exp.default(%a)
    %c = aten.rand_like.default(%x)
    %d = aten.neg.default(%x)
    output user %d
  )"),
            "%d = aten.neg.default(%x)\n"
            "output user %d\n");
}

}  // namespace
}  // namespace unfuse::passes
