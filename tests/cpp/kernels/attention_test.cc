#include "targets/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/attention_operands.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

using Case = AttentionCase;

void run_and_check(AttentionOperands& made) {
  run_attention(made);
  expect_attention(made, 2e-6);
}

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, MatchesDefinition) {
  AttentionOperands made = make_attention(GetParam());
  run_and_check(made);
}

const Placement kHeadsInside = {{0, 2, 1, 3}};  // [B, L, H, D] seen as [B, H, L, D]

INSTANTIATE_TEST_SUITE_P(
    Cases, Attention,
    ::testing::Values(
        Case{"plain", {2}, 3, 3, 50, 50, 16, 16}, Case{"no_batch", {}, 2, 2, 20, 30, 8, 8},
        Case{"one_row", {2}, 2, 2, 1, 77, 64, 64}, Case{"one_key", {2}, 2, 2, 9, 1, 64, 64},
        Case{"one", {1}, 1, 1, 1, 1, 1, 1}, Case{"odd", {1}, 3, 3, 53, 67, 13, 13},
        Case{"long", {1}, 1, 1, 300, 700, 64, 64}, Case{"wide", {1}, 1, 1, 60, 200, 200, 200},
        Case{"widest", {1}, 1, 1, 17, 130, 512, 512},
        Case{"widths_differ", {1}, 2, 2, 33, 40, 24, 40},
        Case{"depth_80", {1}, 2, 2, 33, 40, 80, 80}, Case{"depth_96", {1}, 1, 1, 97, 70, 96, 96},
        Case{"heads_inside",
             {2},
             4,
             4,
             60,
             60,
             32,
             32,
             kHeadsInside,
             kHeadsInside,
             kHeadsInside,
             kHeadsInside},
        Case{"gaps", {2}, 2, 2, 30, 40, 16, 16, {{}, 3}, {{}, 5}, {{}, 1}, {{}, 2}},
        Case{"broadcast_keys", {3}, 2, 2, 30, 40, 16, 16, {}, {{}, 0, 1, {0}}, {{}, 0, 1, {0, 1}}},
        Case{"groups", {2}, 6, 2, 30, 40, 16, 16}, Case{"one_group", {2}, 4, 1, 30, 40, 16, 16},
        Case{"groups_inside",
             {2},
             6,
             3,
             30,
             40,
             16,
             16,
             kHeadsInside,
             kHeadsInside,
             kHeadsInside,
             kHeadsInside},
        Case{"batches", {2, 3}, 2, 1, 10, 11, 8, 8}, Case{"no_rows", {2}, 2, 2, 0, 11, 8, 8},
        Case{"no_batches", {0}, 2, 2, 3, 11, 8, 8}, Case{"no_width", {2}, 2, 2, 3, 11, 8, 0},
        Case{"no_depth", {2}, 2, 2, 3, 11, 0, 8},
        Case{"causal", {1}, 2, 2, 130, 130, 16, 16, {}, {}, {}, {}, {}, {}, true},
        Case{"causal_long", {1}, 1, 1, 600, 600, 16, 16, {}, {}, {}, {}, {}, {}, true},
        Case{"causal_more_keys", {1}, 2, 2, 70, 300, 16, 16, {}, {}, {}, {}, {}, {}, true},
        Case{"causal_more_rows", {1}, 2, 2, 300, 70, 16, 16, {}, {}, {}, {}, {}, {}, true},
        Case{"bool_mask", {2}, 2, 2, 60, 70, 16, 16, {}, {}, {}, {}, DType::kBool},
        Case{"padding_mask",
             {2},
             2,
             2,
             60,
             300,
             16,
             16,
             {},
             {},
             {},
             {},
             DType::kBool,
             {{}, 0, 1, {1, 2}}},
        Case{"one_mask",
             {2},
             2,
             2,
             60,
             70,
             16,
             16,
             {},
             {},
             {},
             {},
             DType::kBool,
             {{}, 0, 1, {0, 1}}},
        Case{"transposed_mask",
             {2},
             2,
             2,
             60,
             70,
             16,
             16,
             {},
             {},
             {},
             {},
             DType::kBool,
             {{0, 1, 3, 2}}},
        Case{"float_mask", {2}, 2, 2, 60, 70, 16, 16, {}, {}, {}, {}, DType::kFloat32},
        Case{
            "float_mask_gaps", {2}, 2, 2, 60, 70, 16, 16, {}, {}, {}, {}, DType::kFloat32, {{}, 3}},
        Case{"float_mask_steps",
             {2},
             2,
             2,
             60,
             70,
             16,
             16,
             {},
             {},
             {},
             {},
             DType::kFloat32,
             {{}, 0, 2, {1}}},
        Case{"float_mask_rows",
             {2},
             2,
             2,
             60,
             70,
             16,
             16,
             {},
             {},
             {},
             {},
             DType::kFloat32,
             {{}, 0, 1, {3}}},
        Case{"causal_and_mask",
             {1},
             2,
             2,
             130,
             140,
             16,
             16,
             {},
             {},
             {},
             {},
             DType::kFloat32,
             {},
             true}),
    [](const auto& test) { return std::string(test.param.name); });

/// Rows whose keys are all masked, in whole tiles and in part.
TEST(AttentionMasks, FullyMaskedRows) {
  for (const DType dtype : {DType::kBool, DType::kFloat32}) {
    for (const bool zero : {true, false}) {
      AttentionOperands made =
          make_attention({"", {2}, 2, 2, 70, 400, 16, 16, {}, {}, {}, {}, dtype});
      made.mask->fill([&](const Index& at) {
        const bool attends = at[2] % 7 != 0 && (at[2] % 5 != 0 || at[3] >= 300);
        return dtype == DType::kBool ? (attends ? 1.0 : 0.0) : (attends ? 0.25 : -kInf);
      });
      made.spec.zero_fully_masked = zero;
      run_and_check(made);
    }
  }
}

TEST(AttentionMasks, NoKeys) {
  for (const bool zero : {true, false}) {
    AttentionOperands made = make_attention({"", {2}, 2, 2, 7, 0, 16, 16});
    made.spec.zero_fully_masked = zero;
    run_and_check(made);
  }
}

TEST(AttentionSpecialValues, NanAndInfinityStayInTheirRows) {
  for (const double special : {kNaN, kInf, -kInf}) {
    AttentionOperands made = make_attention({"", {1}, 1, 1, 60, 300, 16, 16});
    made.query.fill([&](const Index& at) { return 0.1 * static_cast<double>(at[3] % 3 + 1); });
    made.key.fill(
        [&](const Index& at) { return 0.1 * static_cast<double>((at[2] + at[3]) % 5 + 1); });
    made.query.set({0, 0, 11, 2}, special);
    run_attention(made);
    for (const std::int64_t row : {10, 11, 12}) {
      const double got = made.output.get({0, 0, row, 3});
      if (row != 11) {
        EXPECT_NEAR(got, AttentionReference(made)({0, 0, row, 3}), 3e-6);
      } else if (special == -kInf) {
        EXPECT_EQ(got, 0);  // every score is -inf: as if all were masked
      } else {
        EXPECT_TRUE(std::isnan(got)) << got;
      }
    }
  }
}

TEST(AttentionSpecialValues, LargeScoresDoNotOverflow) {
  AttentionOperands made = make_attention({"", {1}, 1, 1, 40, 300, 16, 16});
  std::mt19937 random(3);
  made.query.fill_random(random, -200, 200);
  made.spec.scale = 1;
  run_attention(made);
  // Scores of a thousand and more: float32 has them to 1e-4.
  expect_attention(made, 2e-3);
  AttentionOperands negative = make_attention({"", {1}, 1, 1, 40, 30, 16, 16});
  negative.spec.scale = -0.5f;
  run_and_check(negative);
}

TEST(AttentionThreads, SameResultWithAnyNumber) {
  const Case test = {"", {2}, 3, 3, 500, 300, 32, 32, {}, {}, {}, {}, {}, {}, true};
  AttentionOperands one = make_attention(test, 1);
  AttentionOperands many = make_attention(test, 5);
  run_attention(one);
  run_attention(many);
  expect_close(
      many.output, [&](const Index& at) { return one.output.get(at); }, 1e-6);
}

TEST(AttentionMemory, DoesNotGrowWithTheLength) {
  for (const std::int64_t length : {1024, 4096, 16384, 65536}) {
    AttentionSpec spec;
    spec.query = OperandSpec::contiguous(DType::kFloat32, {1, 8, length, 64});
    spec.key = spec.value = spec.output = spec.query;
    spec.threads = 2;
    EXPECT_LE(select_attention(spec)->scratch_bytes(), 2u << 20);
  }
}

TEST(AttentionSpec, RefusesWhatItCannotTake) {
  AttentionOperands made = make_attention({"", {2}, 4, 3, 7, 9, 16, 16});
  EXPECT_THROW(select_attention(made.spec), Error);
  made = make_attention({"", {2}, 2, 2, 7, 9, 16, 16, {{}, 0, 2}});
  EXPECT_THROW(select_attention(made.spec), Error);
  made = make_attention({"", {2}, 2, 2, 7, 9, 16, 16});
  made.spec.mask = OperandSpec::contiguous(DType::kBool, {7, 9});
  EXPECT_THROW(select_attention(made.spec), Error);
}

}  // namespace
}  // namespace unfuse::cpu::testing
