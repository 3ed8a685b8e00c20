#include "fusion_testing.h"

namespace unfuse::cpu {
namespace {

using testing::after;
using testing::count_of;
using testing::expect_left_alone;
using testing::fused_steps;
using testing::Steps;

std::string fused(std::string_view text) { return after(fuse_linear_epilogues, text); }

constexpr const char* kInputs = R"(
    symbol s0 in [2, 64]
    input user %x: f32[2, s0, 8]
    input user %y: f32[2, s0, 6]
    input user %row: f32[6]
    input parameter %w: f32[6, 8]
    input parameter %b: f32[6]
    %linear = aten.linear.default(%x, %w, %b)
)";

std::string with(std::string_view rest) { return std::string(kInputs) + std::string(rest); }

TEST(FuseLinearEpilogues, ActivationAndResidual) {
  EXPECT_EQ(fused(with(R"(
    %act = aten.gelu.default(%linear, approximate="tanh")
    %sum = aten.add.Tensor(%y, %act)
    output user %sum
  )")),
            "%sum = unfuse.linear(%x, %w, %b, epilogue=\"gelu_tanh\", residual=%y)\n"
            "output user %sum\n");
}

TEST(FuseLinearEpilogues, EveryActivation) {
  for (const auto& [node, epilogue] : {std::pair("aten.relu.default(%linear)", "relu"),
                                       std::pair("aten.silu.default(%linear)", "silu"),
                                       std::pair("aten.gelu.default(%linear)", "gelu")}) {
    const std::string text =
        with("%act = " + std::string(node) + "\n%neg = aten.neg.default(%act)\noutput user %neg\n");
    EXPECT_EQ(fused(text), "%act = unfuse.linear(%x, %w, %b, epilogue=\"" + std::string(epilogue) +
                               "\")\n%neg = aten.neg.default(%act)\noutput user %neg\n");
    EXPECT_EQ(fused_steps(text), (Steps{"unfuse.linear", "aten.neg.default"}));
  }
}

TEST(FuseLinearEpilogues, TheResidualMayBeComputedLater) {
  const std::string text = with(R"(
    %z = aten.relu.default(%y)
    %sum = aten.add.Tensor(%linear, %z)
    output user %sum
  )");
  EXPECT_EQ(fused(text),
            "%z = aten.relu.default(%y)\n"
            "%sum = unfuse.linear(%x, %w, %b, residual=%z)\n"
            "output user %sum\n");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.relu.default", "unfuse.linear"}));
}

TEST(FuseLinearEpilogues, TwoLayersAdded) {
  const std::string text = with(R"(
    %other = aten.linear.default(%x, %w)
    %sum = aten.add.Tensor(%linear, %other)
    output user %sum
  )");
  EXPECT_EQ(fused(text),
            "%other = aten.linear.default(%x, %w)\n"
            "%sum = unfuse.linear(%x, %w, %b, residual=%other)\n"
            "output user %sum\n");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.linear.default", "unfuse.linear"}));
}

TEST(FuseLinearEpilogues, WhatOthersSeeStays) {
  const std::string seen = with(R"(
    %act = aten.relu.default(%linear)
    %sum = aten.add.Tensor(%act, %y)
    output user %sum
    output user %act
  )");
  EXPECT_EQ(fused(seen),
            "%act = unfuse.linear(%x, %w, %b, epilogue=\"relu\")\n"
            "%sum = aten.add.Tensor(%act, %y)\n"
            "output user %sum\n"
            "output user %act\n");
  fused_steps(seen);
  const std::string twice = with(R"(
    %sum = aten.add.Tensor(%linear, %linear)
    output user %sum
  )");
  expect_left_alone(fuse_linear_epilogues, twice);
}

TEST(FuseLinearEpilogues, OtherSumsStay) {
  for (const char* sum : {"aten.add.Tensor(%linear, %y, alpha=2)", "aten.add.Tensor(%linear, %row)",
                          "aten.add.Scalar(%linear, 1)", "aten.sub.Tensor(%linear, %y)"}) {
    expect_left_alone(fuse_linear_epilogues,
                      with("%sum = " + std::string(sum) + "\noutput user %sum\n"));
  }
}

TEST(FuseLinearEpilogues, WeightsThatComeWithTheCallStay) {
  const std::string text = R"(
    input user %x: f32[3, 8]
    input user %w: f32[6, 8]
    %linear = aten.linear.default(%x, %w)
    %act = aten.relu.default(%linear)
    output user %act
  )";
  EXPECT_EQ(expect_left_alone(fuse_linear_epilogues, text),
            (Steps{"aten.linear.default", "aten.relu.default"}));
}

TEST(FuseLinearEpilogues, LayersOfParametersAreComputedAhead) {
  const std::string text = R"(
    input user %x: f32[3, 6]
    input parameter %table: f32[3, 8]
    input parameter %w: f32[6, 8]
    %linear = aten.linear.default(%table, %w)
    %sum = aten.add.Tensor(%linear, %x)
    output user %sum
  )";
  EXPECT_EQ(expect_left_alone(fuse_linear_epilogues, text), Steps{"aten.add.Tensor"});
}

TEST(FuseLinearEpilogues, ResidualsOfAnyStrides) {
  // A transposed residual is no list of rows: it is added in a pass of its own, without a copy.
  const std::string text = R"(
    input user %x: f32[2, 5, 8]
    input user %y: f32[2, 6, 5]
    input parameter %w: f32[6, 8]
    %t = aten.permute.default(%y, [0, 2, 1])
    %linear = aten.linear.default(%x, %w)
    %act = aten.gelu.default(%linear)
    %sum = aten.add.Tensor(%act, %t)
    output user %sum
  )";
  EXPECT_EQ(fused_steps(text), (Steps{"unfuse.linear", "unfuse.linear"}));
}

TEST(FuseLinearEpilogues, SixteenBits) {
  const std::string text = R"(
    input user %x: f32[2, 5, 8]
    input user %y: f32[2, 5, 6]
    input parameter %w: f32[6, 8]
    %x16 = aten._to_copy.default(%x, dtype=float16)
    %w16 = aten._to_copy.default(%w, dtype=float16)
    %y16 = aten._to_copy.default(%y, dtype=float16)
    %linear = aten.linear.default(%x16, %w16)
    %act = aten.relu.default(%linear)
    %sum = aten.add.Tensor(%act, %y16)
    %wide = aten._to_copy.default(%sum, dtype=float32)
    output user %wide
  )";
  const Steps steps = fused_steps(text);
  EXPECT_EQ(count_of(steps, "unfuse.linear"), 1);
  EXPECT_EQ(count_of(steps, "aten.add.Tensor"), 0);
}

}  // namespace
}  // namespace unfuse::cpu
