// Attention that models write by hand, through the target.
#include "fusion_testing.h"

namespace unfuse::cpu {
namespace {

using testing::count_of;
using testing::fused_steps;
using testing::Steps;

/// query [2, 3, 5, 8], key_t [2, 3, 8, 7], value [2, 3, 7, 8] in front of the rest.
std::string with(std::string_view rest, const char* output = "%out") {
  return R"(
    input user %query: f32[2, 3, 5, 8]
    input user %key: f32[2, 3, 7, 8]
    input user %value: f32[2, 3, 7, 8]
    %key_t = aten.permute.default(%key, [0, 1, 3, 2])
  )" + std::string(rest) +
         "\noutput user " + output + "\n";
}

int attentions(std::string_view text) {
  const Steps steps = fused_steps(text);
  EXPECT_EQ(count_of(steps, "aten.matmul.default"), 0) << text;
  return count_of(steps, "unfuse.attention");
}

TEST(SpelledAttention, ScoresDividedAndAnAddedMask) {
  // As BERT has it.
  const std::string text = with(R"(
    input user %mask: f32[2, 1, 1, 7]
    %product = aten.matmul.default(%query, %key_t)
    %scaled = aten.div.Scalar(%product, 2.5)
    %scores = aten.add.Tensor(%scaled, %mask)
    %weights = aten.softmax.int(%scores, -1)
    %out = aten.matmul.default(%weights, %value)
  )");
  EXPECT_EQ(fused_steps(text), Steps{"unfuse.attention"});
}

TEST(SpelledAttention, ABiasForEachHead) {
  // As T5 has it: nothing is scaled, and the bias is as large as the scores.
  EXPECT_EQ(attentions(with(R"(
    input user %bias: f32[1, 3, 5, 7]
    input user %mask: f32[2, 1, 1, 7]
    %product = aten.matmul.default(%query, %key_t)
    %both = aten.add.Tensor(%bias, %mask)
    %scores = aten.add.Tensor(%product, %both)
    %weights = aten.softmax.int(%scores, -1)
    %out = aten.matmul.default(%weights, %value)
  )")),
            1);
}

TEST(SpelledAttention, MasksOverEachOther) {
  EXPECT_EQ(attentions(with(R"(
    input user %bias: f32[2, 3, 5, 7]
    input user %masked: b8[2, 1, 1, 7]
    input user %attended: b8[5, 7]
    %product = aten.matmul.default(%query, %key_t)
    %biased = aten.add.Tensor(%bias, %product)
    %filled = aten.masked_fill.Scalar(%biased, %masked, -inf)
    %scores = aten.where.ScalarOther(%attended, %filled, -inf)
    %weights = aten.softmax.int(%scores, -1)
    %out = aten.matmul.default(%weights, %value)
  )")),
            1);
}

TEST(SpelledAttention, RowsWithoutKeys) {
  // -inf everywhere is NaN, the lowest number everywhere is the mean of all values: a row of the
  // mask is all false.
  for (const char* fill : {"-inf", "-3.4028234663852886e+38", "-1000000000.0"}) {
    EXPECT_EQ(attentions(with(R"(
      input user %x: f32[5, 7]
      %rows = aten.arange.start_step(0, 5, 1, dtype=int64)
      %column = aten.reshape.default(%rows, [5, 1])
      %positive = aten.gt.Scalar(%x, 0)
      %not_third = aten.ne.Scalar(%column, 2)
      %attended = aten.logical_and.default(%positive, %not_third)
      %product = aten.matmul.default(%query, %key_t)
      %scores = aten.where.ScalarOther(%attended, %product, )" +
                              std::string(fill) + R"()
      %weights = aten.softmax.int(%scores, -1)
      %out = aten.matmul.default(%weights, %value)
    )")),
              1)
        << fill;
  }
}

TEST(SpelledAttention, NumbersThatHideNothingStay) {
  const Steps steps = fused_steps(with(R"(
    input user %masked: b8[5, 7]
    %product = aten.matmul.default(%query, %key_t)
    %scores = aten.masked_fill.Scalar(%product, %masked, -100.0)
    %weights = aten.softmax.int(%scores, -1)
    %out = aten.matmul.default(%weights, %value)
  )"));
  EXPECT_EQ(count_of(steps, "unfuse.attention"), 0);
}

TEST(SpelledAttention, SixteenBitScoresWithASoftmaxInFloat32) {
  const std::string text = with(R"(
    input user %bias: f32[1, 3, 5, 7]
    %q = aten._to_copy.default(%query, dtype=float16)
    %k = aten._to_copy.default(%key_t, dtype=float16)
    %v = aten._to_copy.default(%value, dtype=float16)
    %b = aten._to_copy.default(%bias, dtype=float16)
    %product = aten.matmul.default(%q, %k)
    %scores = aten.add.Tensor(%product, %b)
    %wide = aten._to_copy.default(%scores, dtype=float32)
    %softmax = aten.softmax.int(%wide, -1)
    %weights = aten._to_copy.default(%softmax, dtype=float16)
    %narrow = aten.matmul.default(%weights, %v)
    %out = aten._to_copy.default(%narrow, dtype=float32)
  )");
  EXPECT_EQ(count_of(fused_steps(text, 2e-3), "unfuse.attention"), 1);
}

TEST(SpelledAttention, WeightsThatAreReadStay) {
  const Steps steps = fused_steps(with(R"(
    %product = aten.matmul.default(%query, %key_t)
    %weights = aten.softmax.int(%product, -1)
    %out = aten.matmul.default(%weights, %value)
    output user %weights
  )"));
  EXPECT_EQ(count_of(steps, "unfuse.attention"), 0);
}

}  // namespace
}  // namespace unfuse::cpu
