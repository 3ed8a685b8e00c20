#include "targets/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/strided.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Operands {
  Strided query, key, value;
  std::optional<Strided> mask;
  Strided output;
  AttentionSpec spec;
};

struct Case {
  const char* name;
  Sizes batch;
  std::int64_t heads, groups, length, source_length, depth, width;
  Placement query = {}, key = {}, value = {}, output = {};
  std::optional<DType> mask_dtype = {};
  Placement mask = {};
  bool is_causal = false;
};

Operands make(const Case& test, int threads = 2) {
  const auto with = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    Sizes sizes = test.batch;
    sizes.insert(sizes.end(), {heads, rows, columns});
    return sizes;
  };
  std::mt19937 random(17);
  Operands made = {
      Strided(placed(DType::kFloat32, with(test.heads, test.length, test.depth), test.query)),
      Strided(placed(DType::kFloat32, with(test.groups, test.source_length, test.depth), test.key)),
      Strided(
          placed(DType::kFloat32, with(test.groups, test.source_length, test.width), test.value)),
      std::nullopt,
      Strided(placed(DType::kFloat32, with(test.heads, test.length, test.width), test.output)),
      {}};
  made.query.fill_random(random);
  made.key.fill_random(random);
  made.value.fill_random(random);
  if (test.mask_dtype) {
    made.mask.emplace(
        placed(*test.mask_dtype, with(test.heads, test.length, test.source_length), test.mask));
    std::uniform_real_distribution<double> uniform(-2, 2);
    made.mask->fill([&](const Index&) {
      const double value = uniform(random);
      if (*test.mask_dtype == DType::kBool) return value > -1 ? 1.0 : 0.0;
      return value > 1 ? -kInf : value;
    });
  }
  made.spec.query = made.query.spec();
  made.spec.key = made.key.spec();
  made.spec.value = made.value.spec();
  if (made.mask) made.spec.mask = made.mask->spec();
  made.spec.output = made.output.spec();
  made.spec.is_causal = test.is_causal;
  made.spec.scale = 1 / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, test.depth)));
  made.spec.threads = threads;
  return made;
}

void run(Operands& made) {
  std::vector<Strided*> operands = {&made.query, &made.key, &made.value};
  if (made.mask) operands.push_back(&*made.mask);
  operands.push_back(&made.output);
  run_kernel(*select_attention(made.spec), operands);
}

/// The definition, in float64: the weights of one row, whose last index is ignored; empty when the
/// row's result is `special`.
std::vector<double> exact_weights(const Operands& made, const Index& row, double& special) {
  const AttentionSpec& spec = made.spec;
  const std::size_t rank = row.size();
  const std::int64_t length = spec.key.sizes[rank - 2];
  Index query = row;
  Index key = row;
  Index mask = row;
  key[rank - 3] /= spec.query.sizes[rank - 3] / spec.key.sizes[rank - 3];
  std::vector<double> scores;
  double maximum = -kInf;
  bool has_nan = false;
  for (std::int64_t s = 0; s < length; ++s) {
    key[rank - 2] = mask[rank - 1] = s;
    double score = 0;
    for (std::int64_t d = 0; d < spec.query.sizes[rank - 1]; ++d) {
      query[rank - 1] = key[rank - 1] = d;
      score += made.query.get(query) * made.key.get(key);
    }
    score *= static_cast<double>(spec.scale);
    if (made.mask && spec.mask->dtype == DType::kBool) {
      score += made.mask->get(mask) != 0 ? 0 : -kInf;
    } else if (made.mask) {
      score += made.mask->get(mask);
    }
    if (spec.is_causal && s > row[rank - 2]) score = -kInf;
    scores.push_back(score);
    has_nan = has_nan || std::isnan(score);
    maximum = std::max(maximum, score);
  }
  special = spec.zero_fully_masked || length == 0 ? 0 : kNaN;
  if (has_nan || maximum == kInf) special = kNaN;
  if (has_nan || std::isinf(maximum)) return {};
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - maximum);
  for (double& score : scores) score /= sum;
  return scores;
}

class Reference {
 public:
  explicit Reference(const Operands& made) : made_(made) {}
  double operator()(const Index& at) {
    Index row = at;
    row.back() = 0;
    if (row != row_) {
      row_ = row;
      weights_ = exact_weights(made_, row, special_);
    }
    if (weights_.empty()) return special_;
    Index value = at;
    const std::size_t rank = at.size();
    value[rank - 3] /= made_.spec.query.sizes[rank - 3] / made_.spec.key.sizes[rank - 3];
    double result = 0;
    for (std::size_t s = 0; s < weights_.size(); ++s) {
      value[rank - 2] = static_cast<std::int64_t>(s);
      result += weights_[s] * made_.value.get(value);
    }
    return result;
  }

 private:
  const Operands& made_;
  Index row_;
  std::vector<double> weights_;
  double special_ = 0;
};

double exact(const Operands& made, const Index& at) { return Reference(made)(at); }

void expect_right(const Operands& made, double tolerance) {
  Reference reference(made);
  expect_close(
      made.output, [&](const Index& at) { return reference(at); }, tolerance);
}

void run_and_check(Operands& made) {
  run(made);
  expect_right(made, 2e-6);
}

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, MatchesDefinition) {
  Operands made = make(GetParam());
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
      Operands made = make({"", {2}, 2, 2, 70, 400, 16, 16, {}, {}, {}, {}, dtype});
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
    Operands made = make({"", {2}, 2, 2, 7, 0, 16, 16});
    made.spec.zero_fully_masked = zero;
    run_and_check(made);
  }
}

TEST(AttentionSpecialValues, NanAndInfinityStayInTheirRows) {
  for (const double special : {kNaN, kInf, -kInf}) {
    Operands made = make({"", {1}, 1, 1, 60, 300, 16, 16});
    made.query.fill([&](const Index& at) { return 0.1 * static_cast<double>(at[3] % 3 + 1); });
    made.key.fill(
        [&](const Index& at) { return 0.1 * static_cast<double>((at[2] + at[3]) % 5 + 1); });
    made.query.set({0, 0, 11, 2}, special);
    run(made);
    for (const std::int64_t row : {10, 11, 12}) {
      const double got = made.output.get({0, 0, row, 3});
      if (row != 11) {
        EXPECT_NEAR(got, exact(made, {0, 0, row, 3}), 3e-6);
      } else if (special == -kInf) {
        EXPECT_EQ(got, 0);  // every score is -inf: as if all were masked
      } else {
        EXPECT_TRUE(std::isnan(got)) << got;
      }
    }
  }
}

TEST(AttentionSpecialValues, LargeScoresDoNotOverflow) {
  Operands made = make({"", {1}, 1, 1, 40, 300, 16, 16});
  std::mt19937 random(3);
  made.query.fill_random(random, -200, 200);
  made.spec.scale = 1;
  run(made);
  // Scores of a thousand and more: float32 has them to 1e-4.
  expect_right(made, 2e-3);
  Operands negative = make({"", {1}, 1, 1, 40, 30, 16, 16});
  negative.spec.scale = -0.5f;
  run_and_check(negative);
}

TEST(AttentionThreads, SameResultWithAnyNumber) {
  const Case test = {"", {2}, 3, 3, 500, 300, 32, 32, {}, {}, {}, {}, {}, {}, true};
  Operands one = make(test, 1);
  Operands many = make(test, 5);
  run(one);
  run(many);
  expect_close(
      many.output, [&](const Index& at) { return one.output.get(at); }, 1e-6);
}

TEST(AttentionMemory, DoesNotGrowWithTheSquareOfTheLength) {
  const auto scratch = [](std::int64_t length) {
    AttentionSpec spec;
    spec.query = OperandSpec::contiguous(DType::kFloat32, {1, 8, length, 64});
    spec.key = spec.value = spec.output = spec.query;
    spec.threads = 2;
    return select_attention(spec)->scratch_bytes();
  };
  EXPECT_LE(scratch(16384), scratch(1024));
  EXPECT_LE(scratch(16384), 2u << 20);
}

TEST(AttentionSpec, RefusesWhatItCannotTake) {
  Operands made = make({"", {2}, 4, 3, 7, 9, 16, 16});
  EXPECT_THROW(select_attention(made.spec), Error);
  made = make({"", {2}, 2, 2, 7, 9, 16, 16, {{}, 0, 2}});
  EXPECT_THROW(select_attention(made.spec), Error);
  made = make({"", {2}, 2, 2, 7, 9, 16, 16});
  made.spec.mask = OperandSpec::contiguous(DType::kBool, {7, 9});
  EXPECT_THROW(select_attention(made.spec), Error);
}

}  // namespace
}  // namespace unfuse::cpu::testing
