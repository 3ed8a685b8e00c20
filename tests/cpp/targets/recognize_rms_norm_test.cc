#include "fusion_testing.h"

namespace unfuse::cpu {
namespace {

using testing::fused_steps;
using testing::Steps;

std::string recognized(std::string_view text) {
  return testing::after_without_dead_code<recognize_rms_norm>(text);
}

std::string with(std::string_view rest) {
  return R"(
    symbol s0 in [2, 64]
    input user %x: f32[2, s0, 24]
    input parameter %w: f32[24]
    %square = aten.mul.Tensor(%x, %x)
    %mean = aten.mean.dim(%square, [2], True)
    %shifted = aten.add.Scalar(%mean, 1e-06)
    %root = aten.rsqrt.default(%shifted)
    )" + std::string(rest);
}

TEST(RecognizeRmsNorm, WithAWeight) {
  const std::string text = with(R"(
    %norm = aten.mul.Tensor(%x, %root)
    %out = aten.mul.Tensor(%w, %norm)
    output user %out
  )");
  EXPECT_EQ(recognized(text),
            "%out = aten.rms_norm.default(%x, [24], %w, 1e-06)\n"
            "output user %out\n");
  EXPECT_EQ(fused_steps(text), Steps{"aten.rms_norm.default"});
}

TEST(RecognizeRmsNorm, WithoutOne) {
  const std::string text = with(R"(
    %norm = aten.mul.Tensor(%root, %x)
    %out = aten.mul.Tensor(%norm, %x)
    output user %out
  )");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.rms_norm.default", "aten.mul.Tensor"}));
}

TEST(RecognizeRmsNorm, OfANormThatIsAnOutputToo) {
  const std::string text = with(R"(
    %norm = aten.mul.Tensor(%x, %root)
    %out = aten.mul.Tensor(%w, %norm)
    output user %norm
    output user %out
  )");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.rms_norm.default", "aten.mul.Tensor"}));
}

TEST(RecognizeRmsNorm, OfWhatANormGave) {
  const std::string text = with(R"(
    %norm = aten.mul.Tensor(%x, %root)
    %first = aten.mul.Tensor(%w, %norm)
    %square_1 = aten.mul.Tensor(%first, %first)
    %mean_1 = aten.mean.dim(%square_1, [2], True)
    %shifted_1 = aten.add.Scalar(%mean_1, 1e-05)
    %root_1 = aten.rsqrt.default(%shifted_1)
    %out = aten.mul.Tensor(%root_1, %first)
    output user %out
  )");
  EXPECT_EQ(recognized(text),
            "%first = aten.rms_norm.default(%x, [24], %w, 1e-06)\n"
            "%out = aten.rms_norm.default(%first, [24], eps=1e-05)\n"
            "output user %out\n");
  EXPECT_EQ(fused_steps(text), (Steps{"aten.rms_norm.default", "aten.rms_norm.default"}));
}

TEST(RecognizeRmsNorm, InSixteenBits) {
  // As transformers write it: float32 inside, rounded before the weight.
  const std::string text = R"(
    input user %in: f32[2, 5, 24]
    input parameter %w16: f16[24]
    %x = aten._to_copy.default(%in, dtype=float16)
    %wide = aten._to_copy.default(%x, dtype=float32)
    %square = aten.mul.Tensor(%wide, %wide)
    %mean = aten.mean.dim(%square, [2], True)
    %shifted = aten.add.Scalar(%mean, 1e-06)
    %root = aten.rsqrt.default(%shifted)
    %norm = aten.mul.Tensor(%x, %root)
    %narrow = aten._to_copy.default(%norm, dtype=float16)
    %out = aten.mul.Tensor(%w16, %narrow)
    output user %out
  )";
  const std::vector<Tensor> inputs = {testing::random_tensor({2, 5, 24})};
  const Steps steps = testing::run_graph(text, inputs).steps;
  EXPECT_EQ(testing::count_of(steps, "aten.rms_norm.default"), 1);
}

TEST(RecognizeRmsNorm, OtherMeansStay) {
  for (const char* rest :
       {"%norm = aten.mul.Tensor(%w, %root)\noutput user %norm\n",
        "%norm = aten.mul.Tensor(%x, %root)\noutput user %norm\noutput user %mean\n"}) {
    testing::expect_left_alone(recognize_rms_norm, with(rest));
  }
}

}  // namespace
}  // namespace unfuse::cpu
