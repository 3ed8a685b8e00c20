#include "fusion_testing.h"

namespace unfuse::cpu {
namespace {

using testing::expect_left_alone;
using testing::fused_steps;
using testing::Steps;

std::string ordered(std::string_view text) {
  return testing::after_without_dead_code<order_linear_rows>(text);
}

TEST(OrderLinearRows, ThePermutationMovesBehindTheLayer) {
  const std::string text = R"(
    symbol s0 in [2, 64]
    input user %x: f32[2, s0, 6]
    input parameter %w: f32[8, 6]
    %t = aten.permute.default(%x, [1, 0, 2])
    %linear = aten.linear.default(%t, %w)
    %heads = aten.reshape.default(%linear, [s0, 2, 2, 4])
    %out = aten.neg.default(%heads)
    output user %out
  )";
  EXPECT_EQ(ordered(text),
            "%linear_1 = aten.linear.default(%x, %w)\n"
            "%linear = aten.permute.default(%linear_1, [1, 0, 2])\n"
            "%heads = aten.reshape.default(%linear, [s0, 2, 2, 4])\n"
            "%out = aten.neg.default(%heads)\n"
            "output user %out\n");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.linear.default", "aten.neg.default"}));
}

TEST(OrderLinearRows, HeadsOfAttentionInAnotherOrder) {
  // As nn.MultiheadAttention puts them together: [length * batch, width], and back.
  const std::string text = R"(
    input user %heads: f32[3, 2, 5, 4]
    input user %residual: f32[3, 5, 8]
    input parameter %w: f32[8, 8]
    %t = aten.permute.default(%heads, [2, 0, 1, 3])
    %rows = aten.reshape.default(%t, [15, 8])
    %linear = aten.linear.default(%rows, %w)
    %parted = aten.reshape.default(%linear, [5, 3, 8])
    %back = aten.permute.default(%parted, [1, 0, 2])
    %out: f32[3, 5, 8] = aten.add.Tensor(%back, %residual)
    output user %out
  )";
  EXPECT_EQ(ordered(text),
            "%permute = aten.permute.default(%heads, [0, 2, 1, 3])\n"
            "%reshape_1 = aten.reshape.default(%permute, [3, 5, 8])\n"
            "%back = aten.linear.default(%reshape_1, %w)\n"
            "%out = aten.add.Tensor(%back, %residual)\n"
            "output user %out\n");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.reshape.default (copy)", "unfuse.linear"}));
}

TEST(OrderLinearRows, ResultsThatAreComputedOnStay) {
  const std::string text = R"(
    input user %x: f32[2, 5, 6]
    input parameter %w: f32[8, 6]
    %t = aten.permute.default(%x, [1, 0, 2])
    %linear = aten.linear.default(%t, %w)
    %out = aten.relu.default(%linear)
    output user %out
  )";
  expect_left_alone(order_linear_rows, text);
}

TEST(OrderLinearRows, ColumnsThatBecomeRowsStay) {
  const std::string text = R"(
    input user %x: f32[2, 6, 5]
    input parameter %w: f32[8, 6]
    %t = aten.permute.default(%x, [0, 2, 1])
    %linear = aten.linear.default(%t, %w)
    %flat = aten.reshape.default(%linear, [80])
    %out = aten.relu.default(%flat)
    output user %out
  )";
  expect_left_alone(order_linear_rows, text);
}

TEST(OrderLinearRows, MergedRowsThatAreNotParted) {
  const std::string text = R"(
    input user %x: f32[2, 5, 6]
    input parameter %w: f32[8, 6]
    %rows = aten.reshape.default(%x, [10, 6])
    %linear = aten.linear.default(%rows, %w)
    %mixed = aten.reshape.default(%linear, [20, 4])
    %out = aten.relu.default(%mixed)
    output user %out
  )";
  expect_left_alone(order_linear_rows, text);
}

}  // namespace
}  // namespace unfuse::cpu
