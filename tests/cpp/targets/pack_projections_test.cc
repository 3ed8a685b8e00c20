#include "fusion_testing.h"
#include "targets/cpu/preparation.h"

namespace unfuse::cpu {
namespace {

using testing::after;
using testing::count_of;
using testing::expect_left_alone;
using testing::fused_steps;
using testing::Steps;

std::string packed(std::string_view text) { return after(pack_projections, text); }

/// Query, key and value of an attention with 2 heads of 4, from three layers.
constexpr const char* kAttention = R"(
    symbol s0 in [2, 64]
    input user %x: f32[2, s0, 6]
    input parameter %wq: f32[8, 6]
    input parameter %wk: f32[8, 6]
    input parameter %wv: f32[8, 6]
    input parameter %bq: f32[8]
    input parameter %bv: f32[8]
    %q = aten.linear.default(%x, %wq, %bq)
    %k = aten.linear.default(%x, %wk)
    %v = aten.linear.default(%x, %wv, %bv)
    %q4 = aten.reshape.default(%q, [2, s0, 2, 4])
    %k4 = aten.reshape.default(%k, [2, s0, 2, 4])
    %v4 = aten.reshape.default(%v, [2, s0, 2, 4])
    %qh = aten.permute.default(%q4, [0, 2, 1, 3])
    %kh = aten.permute.default(%k4, [0, 2, 1, 3])
    %vh = aten.permute.default(%v4, [0, 2, 1, 3])
    %out = unfuse.attention(%qh, %kh, %vh)
    output user %out
)";

TEST(PackProjections, QueryKeyAndValue) {
  const std::string text = packed(kAttention);
  const std::string expected =
      "%cat = aten.cat.default([%wq, %wk, %wv])\n"
      "%full = aten.full.default([8], 0.0, dtype=float32)\n"
      "%cat_1 = aten.cat.default([%bq, %full, %bv])\n"
      "%linear = aten.linear.default(%x, %cat, %cat_1)\n"
      "%q = aten.slice.Tensor(%linear, 2, 0, 8)\n"
      "%k = aten.slice.Tensor(%linear, 2, 8, 16)\n"
      "%v = aten.slice.Tensor(%linear, 2, 16, 24)\n"
      "%q4 = aten.reshape.default(%q, [2, s0, 2, 4])\n";
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  EXPECT_EQ(fused_steps(kAttention), (Steps{"aten.linear.default", "unfuse.attention"}));
}

TEST(PackProjections, HeadsArePutTogetherInPlace) {
  // What attention gives is written as rows of all heads: nothing is moved between two layers.
  std::string text = kAttention;
  text.replace(text.find("    output user"), std::string::npos, R"(
    input parameter %wo: f32[6, 8]
    %turned = aten.permute.default(%out, [0, 2, 1, 3])
    %rows = aten.reshape.default(%turned, [2, s0, 8])
    %sum = aten.linear.default(%rows, %wo)
    output user %sum
  )");
  EXPECT_EQ(fused_steps(text),
            (Steps{"aten.linear.default", "unfuse.attention", "aten.linear.default"}));
}

TEST(PackProjections, OutputsAndReadersThatWouldCopyStay) {
  std::string text = kAttention;
  text +=
      "    output user %k\n    %flat = aten.reshape.default(%v, [s0*16])\n"
      "    %neg = aten.neg.default(%flat)\n    output user %neg\n";
  // A flat vector cannot be seen in rows that are apart; an output is handed out by itself.
  expect_left_alone(pack_projections, text);
}

TEST(PackProjections, WhatFollowsALayerAsAnEpilogueStays) {
  const std::string text = R"(
    input user %x: f32[5, 6]
    input user %y: f32[5, 8]
    input parameter %w1: f32[8, 6]
    input parameter %w2: f32[8, 6]
    input parameter %w3: f32[8, 6]
    %a = aten.linear.default(%x, %w1)
    %b = aten.linear.default(%x, %w2)
    %c = aten.linear.default(%x, %w3)
    %relu = aten.relu.default(%a)
    %sum = aten.add.Tensor(%b, %y)
    %tanh = aten.tanh.default(%c)
    %all = aten.cat.default([%relu, %sum, %tanh], 1)
    output user %all
  )";
  expect_left_alone(pack_projections, text);
}

TEST(PackProjections, GatesArePacked) {
  const std::string text = R"(
    input user %x: f32[5, 6]
    input parameter %w1: f32[8, 6]
    input parameter %w2: f32[8, 6]
    %gate = aten.linear.default(%x, %w1)
    %up = aten.linear.default(%x, %w2)
    %act = aten.silu.default(%gate)
    %out = aten.mul.Tensor(%act, %up)
    output user %out
  )";
  EXPECT_NE(packed(text).find("aten.cat.default([%w1, %w2])"), std::string::npos);
  const Steps steps = fused_steps(text);
  EXPECT_EQ(count_of(steps, "aten.linear.default"), 1);
}

TEST(PackProjections, WeightsOfSixteenBitsArePutTogetherAsTheyAre) {
  const std::string text = R"(
    input user %x: f32[5, 6]
    input parameter %w1: f16[8, 6]
    input parameter %w2: f16[4, 6]
    %wide1 = aten._to_copy.default(%w1, dtype=float32)
    %wide2 = aten._to_copy.default(%w2, dtype=float32)
    %a = aten.linear.default(%x, %wide1)
    %b = aten.linear.default(%x, %wide2)
    %all = aten.cat.default([%a, %b], 1)
    output user %all
  )";
  EXPECT_NE(packed(text).find("aten.cat.default([%w1, %w2])"), std::string::npos);
}

TEST(PackProjections, WeightsThatAreMadeLaterStay) {
  const std::string text = R"(
    input user %x: f32[5, 6]
    input parameter %w1: f32[8, 6]
    input parameter %w2: f32[4, 6]
    %a = aten.linear.default(%x, %w1)
    %scaled = aten.mul.Scalar(%w2, 2.0)
    %b = aten.linear.default(%x, %scaled)
    %all = aten.cat.default([%a, %b], 1)
    output user %all
  )";
  expect_left_alone(pack_projections, text);
}

TEST(PackProjections, NothingIsKeptButThePackedWeight) {
  const testing::Compiled compiled(testing::graph_with_data(R"(
    input user %x: f32[5, 6]
    input parameter %w1: f32[8, 6]
    input parameter %w2: f32[4, 6]
    %a = aten.linear.default(%x, %w1)
    %b = aten.linear.default(%x, %w2)
    %all = aten.cat.default([%a, %b], 1)
    output user %all
  )"));
  EXPECT_EQ(compiled.preparation().kept_tensors.size(), 0U);
  EXPECT_EQ(compiled.preparation().kept_packed.size(), 1U);
}

}  // namespace
}  // namespace unfuse::cpu
