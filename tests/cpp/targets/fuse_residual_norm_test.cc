#include "fusion_testing.h"

namespace unfuse::cpu {
namespace {

using testing::fused_steps;
using testing::Steps;

std::string fused(std::string_view text) { return testing::after(fuse_residual_norm, text); }

constexpr const char* kInputs = R"(
    symbol s0 in [2, 64]
    input user %x: f32[2, s0, 21]
    input user %y: f32[2, s0, 21]
    input parameter %positions: f32[1, 1, 21]
    input parameter %w: f32[21]
    input parameter %b: f32[21]
)";

std::string with(std::string_view rest) { return std::string(kInputs) + std::string(rest); }

TEST(FuseResidualNorm, TheNormAlone) {
  const std::string text = with(R"(
    %sum = aten.add.Tensor(%x, %y)
    %norm = aten.layer_norm.default(%sum, [21], %w, %b, 0.001)
    output user %norm
  )");
  EXPECT_EQ(fused(text),
            "%norm, %sum = unfuse.add_layer_norm(%x, %y, [21], %w, %b, 0.001)\n"
            "output user %norm\n");
  EXPECT_EQ(fused_steps(text), Steps{"unfuse.add_layer_norm"});
}

TEST(FuseResidualNorm, TheSumIsReadAgain) {
  const std::string text = with(R"(
    %sum = aten.add.Tensor(%x, %y)
    %norm = aten.layer_norm.default(%sum, [21])
    %again = aten.mul.Tensor(%norm, %sum)
    output user %again
    output user %sum
  )");
  EXPECT_EQ(fused_steps(text), (Steps{"unfuse.add_layer_norm", "aten.mul.Tensor"}));
}

TEST(FuseResidualNorm, OperandsThatAreBroadcast) {
  EXPECT_EQ(fused_steps(with(R"(
    %sum = aten.add.Tensor(%positions, %x)
    %norm = aten.layer_norm.default(%sum, [21], %w)
    output user %norm
  )")),
            Steps{"unfuse.add_layer_norm"});
}

TEST(FuseResidualNorm, SeveralDimensionsAndOddStrides) {
  const std::string text = R"(
    input user %x: f32[4, 3, 5]
    input user %y: f32[5, 4, 3]
    %t = aten.permute.default(%y, [1, 2, 0])
    %sum = aten.add.Tensor(%x, %t)
    %norm = aten.layer_norm.default(%sum, [3, 5])
    %out = aten.add.Tensor(%norm, %sum)
    output user %out
  )";
  fused_steps(text);
}

TEST(FuseResidualNorm, ResidualsOfLayersAreTheirEpilogues) {
  EXPECT_EQ(fused_steps(with(R"(
    input parameter %weight: f32[21, 21]
    %linear = aten.linear.default(%x, %weight)
    %sum = aten.add.Tensor(%linear, %y)
    %norm = aten.layer_norm.default(%sum, [21], %w, %b)
    output user %norm
  )")),
            (Steps{"unfuse.linear", "aten.layer_norm.default"}));
}

TEST(FuseResidualNorm, OtherSumsStay) {
  for (const char* lines :
       {"%sum = aten.add.Tensor(%x, %y, alpha=2)\n%norm = aten.layer_norm.default(%sum, [21])\n",
        "%sum = aten.add.Tensor(%x, %y)\n%relu = aten.relu.default(%sum)\n"
        "%norm = aten.layer_norm.default(%sum, [21])\noutput user %relu\n"}) {
    testing::expect_left_alone(fuse_residual_norm,
                               with(std::string(lines) + "output user %norm\n"));
  }
}

}  // namespace
}  // namespace unfuse::cpu
