#include <algorithm>

#include "fusion_testing.h"
#include "passes/passes.h"

namespace unfuse::cpu {
namespace {

using testing::fused_steps;
using Steps = std::vector<std::string>;

std::string recognized(std::string_view text) {
  return testing::after(
      [](Graph& graph) {
        recognize_rms_norm(graph);
        passes::eliminate_dead_code(graph);
      },
      text);
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
  const Steps steps = [&] {
    const std::vector<Tensor> inputs = {testing::random_tensor({2, 5, 24})};
    return testing::run_graph(text, inputs).steps;
  }();
  EXPECT_NE(std::find(steps.begin(), steps.end(), "aten.rms_norm.default"), steps.end());
}

TEST(RecognizeRmsNorm, OtherMeansStay) {
  for (const char* rest :
       {"%norm = aten.mul.Tensor(%w, %root)\noutput user %norm\n",
        "%norm = aten.mul.Tensor(%x, %root)\noutput user %norm\noutput user %mean\n"}) {
    EXPECT_EQ(recognized(with(rest)).find("rms_norm"), std::string::npos);
    fused_steps(with(rest));
  }
}

}  // namespace
}  // namespace unfuse::cpu
