#include <cmath>
#include <limits>

#include "kernels/strided.h"
#include "targets/cpu/kernels/layer_norm.h"
#include "targets/cpu/kernels/softmax.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct NormCase {
  const char* name;
  NormKind kind;
  Sizes sizes;
  std::int64_t normalized_rank = 1;
  bool has_weight = true, has_bias = true;
  Placement input = {}, output = {};
  double offset = 0;  ///< added to all inputs
  bool has_residual = false, has_sum = false;
};

class Norm : public ::testing::TestWithParam<NormCase> {};

TEST_P(Norm, MatchesDefinition) {
  const NormCase& test = GetParam();
  std::mt19937 random(23);
  Strided input(placed(DType::kFloat32, test.sizes, test.input));
  Strided output(placed(DType::kFloat32, test.sizes, test.output));
  const Sizes normalized(test.sizes.end() - test.normalized_rank, test.sizes.end());
  Strided weight(OperandSpec::contiguous(DType::kFloat32, normalized));
  Strided bias(OperandSpec::contiguous(DType::kFloat32, normalized));
  input.fill_random(random, test.offset - 2, test.offset + 2);
  weight.fill_random(random);
  bias.fill_random(random);
  Strided residual(placed(DType::kFloat32, test.sizes, test.input));
  Strided sum(placed(DType::kFloat32, test.sizes, test.output));
  residual.fill_random(random);
  const auto value_of = [&](const Index& at) {
    if (!test.has_residual) return input.get(at);
    return static_cast<double>(static_cast<float>(input.get(at)) +
                               static_cast<float>(residual.get(at)));
  };
  NormSpec spec;
  spec.kind = test.kind;
  spec.input = input.spec();
  spec.normalized_rank = test.normalized_rank;
  spec.has_weight = test.has_weight;
  spec.has_bias = test.has_bias && test.kind == NormKind::kLayerNorm;
  spec.output = output.spec();
  spec.threads = 2;
  std::vector<Strided*> operands = {&input};
  if (test.has_residual) {
    spec.residual = residual.spec();
    operands.push_back(&residual);
  }
  if (spec.has_weight) operands.push_back(&weight);
  if (spec.has_bias) operands.push_back(&bias);
  if (test.has_sum) {
    spec.sum = sum.spec();
    operands.push_back(&sum);
  }
  operands.push_back(&output);
  run_kernel(*select_norm(spec), operands);
  if (test.has_sum) expect_close(sum, value_of, 0);
  const auto leading = static_cast<std::ptrdiff_t>(test.sizes.size() - normalized.size());
  expect_close(
      output,
      [&](const Index& at) {
        double total = 0;
        double count = 0;
        const auto over_row = [&](const auto& visit) {
          for_each_index(normalized, [&](const Index& inner) {
            Index element(at.begin(), at.begin() + leading);
            element.insert(element.end(), inner.begin(), inner.end());
            visit(value_of(element));
          });
        };
        over_row([&](double x) { total += x, ++count; });
        const double mean = test.kind == NormKind::kLayerNorm ? total / count : 0;
        double squares = 0;
        over_row([&](double x) { squares += (x - mean) * (x - mean); });
        const Index inner(at.begin() + leading, at.end());
        const double value = (value_of(at) - mean) / std::sqrt(squares / count + spec.eps);
        return value * (spec.has_weight ? weight.get(inner) : 1) +
               (spec.has_bias ? bias.get(inner) : 0);
      },
      2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Norm,
    ::testing::Values(
        NormCase{"rows", NormKind::kLayerNorm, {5, 64}},
        NormCase{"vector", NormKind::kLayerNorm, {77}},
        NormCase{"one_wide", NormKind::kLayerNorm, {5, 1}},
        NormCase{"odd", NormKind::kLayerNorm, {3, 7, 131}},
        NormCase{"two_dims", NormKind::kLayerNorm, {4, 5, 6}, 2},
        NormCase{"plain", NormKind::kLayerNorm, {5, 64}, 1, false, false},
        NormCase{"weight_only", NormKind::kLayerNorm, {5, 67}, 1, true, false},
        NormCase{"bias_only", NormKind::kLayerNorm, {5, 67}, 1, false, true},
        NormCase{"gaps", NormKind::kLayerNorm, {5, 6, 64}, 1, true, true, {{}, 5}, {{}, 3}},
        NormCase{"permuted", NormKind::kLayerNorm, {5, 6, 64}, 1, true, true, {{1, 0, 2}}},
        NormCase{"broadcast", NormKind::kLayerNorm, {5, 6, 64}, 1, true, true, {{}, 0, 1, {0}}},
        NormCase{"many", NormKind::kLayerNorm, {300, 33}},
        NormCase{"far_from_zero", NormKind::kLayerNorm, {5, 300}, 1, true, true, {}, {}, 1000},
        NormCase{"no_rows", NormKind::kLayerNorm, {0, 64}},
        NormCase{"no_columns", NormKind::kLayerNorm, {4, 0}},
        NormCase{
            "residual", NormKind::kLayerNorm, {5, 67}, 1, true, true, {{}, 5}, {{}, 3}, 0, true},
        NormCase{"residual_and_sum",
                 NormKind::kLayerNorm,
                 {5, 6, 40},
                 1,
                 true,
                 true,
                 {{1, 0, 2}},
                 {{}, 3},
                 0,
                 true,
                 true},
        NormCase{"rms", NormKind::kRmsNorm, {5, 64}},
        NormCase{"rms_odd", NormKind::kRmsNorm, {3, 7, 131}},
        NormCase{"rms_plain", NormKind::kRmsNorm, {5, 64}, 1, false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(NormSpecialValues, StayInTheirRows) {
  Strided input(OperandSpec::contiguous(DType::kFloat32, {4, 40}));
  Strided output(OperandSpec::contiguous(DType::kFloat32, {4, 40}));
  input.fill([](const Index& at) { return static_cast<double>(at[1] % 5); });
  input.set({0, 39}, kNaN);
  input.set({1, 3}, kInf);
  for (std::int64_t i = 0; i < 40; ++i) input.set({2, i}, 3);  // no variance
  NormSpec spec;
  spec.input = input.spec();
  spec.output = output.spec();
  run_kernel(*select_norm(spec), {&input, &output});
  EXPECT_TRUE(std::isnan(output.get({0, 0})));
  EXPECT_TRUE(std::isnan(output.get({1, 3})));
  EXPECT_EQ(output.get({2, 7}), 0);
  EXPECT_NEAR(output.get({3, 0}), -std::sqrt(2.0), 1e-5);
}

TEST(NormSpec, RefusesWhatItCannotTake) {
  NormSpec spec;
  spec.input = placed(DType::kFloat32, {4, 8}, {{1, 0}});
  spec.output = placed(DType::kFloat32, {4, 8});
  EXPECT_THROW(select_norm(spec), Error);
}

struct SoftmaxCase {
  const char* name;
  Sizes sizes;
  std::int64_t dim;
  Placement input = {}, output = {};
};

class Softmax : public ::testing::TestWithParam<SoftmaxCase> {};

TEST_P(Softmax, MatchesDefinition) {
  const SoftmaxCase& test = GetParam();
  const auto dim = static_cast<std::size_t>(
      test.dim < 0 ? test.dim + static_cast<std::int64_t>(test.sizes.size()) : test.dim);
  for (const auto kind :
       {SoftmaxKind::kSoftmax, SoftmaxKind::kLogSoftmax, SoftmaxKind::kSafeSoftmax}) {
    std::mt19937 random(29);
    Strided input(placed(DType::kFloat32, test.sizes, test.input));
    Strided output(placed(DType::kFloat32, test.sizes, test.output));
    input.fill_random(random, -8, 8);
    run_kernel(*select_softmax({kind, input.spec(), test.dim, output.spec(), 2}),
               {&input, &output});
    expect_close(
        output,
        [&](const Index& at) {
          double sum = 0;
          Index element = at;
          for (std::int64_t i = 0; i < (at.empty() ? 1 : test.sizes[dim]); ++i) {
            if (!at.empty()) element[dim] = i;
            sum += std::exp(input.get(element) - input.get(at));
          }
          return kind == SoftmaxKind::kLogSoftmax ? -std::log(sum) : 1 / sum;
        },
        kind == SoftmaxKind::kLogSoftmax ? 2e-6 : 0, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Softmax,
    ::testing::Values(SoftmaxCase{"rows", {5, 64}, -1}, SoftmaxCase{"odd", {3, 515}, 1},
                      SoftmaxCase{"short_rows", {500, 3}, -1}, SoftmaxCase{"one", {5, 1}, -1},
                      SoftmaxCase{"scalar", {}, 0}, SoftmaxCase{"first", {33, 20}, 0},
                      SoftmaxCase{"middle", {4, 33, 20}, 1},
                      SoftmaxCase{"gaps", {4, 33}, 1, {{}, 3}, {{}, 2}},
                      SoftmaxCase{"steps", {4, 33}, 1, {{}, 0, 2}, {}},
                      SoftmaxCase{"transposed", {4, 33, 20}, 2, {{2, 1, 0}}, {}},
                      SoftmaxCase{"broadcast", {4, 33, 20}, 2, {{}, 0, 1, {1}}, {}},
                      SoftmaxCase{"no_rows", {0, 5}, 1}, SoftmaxCase{"no_columns", {5, 0}, 1},
                      SoftmaxCase{"many", {300, 40}, 1}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SoftmaxSpecialValues, AsTorch) {
  const auto run = [](SoftmaxKind kind, const std::vector<double>& row) {
    const auto count = static_cast<std::int64_t>(row.size());
    Strided input(OperandSpec::contiguous(DType::kFloat32, {count}));
    Strided output(OperandSpec::contiguous(DType::kFloat32, {count}));
    input.fill([&](const Index& at) { return row[static_cast<std::size_t>(at[0])]; });
    run_kernel(*select_softmax({kind, input.spec(), 0, output.spec(), 1}), {&input, &output});
    return output.get({0});
  };
  using enum SoftmaxKind;
  EXPECT_EQ(run(kSoftmax, {-kInf, 0, 0}), 0);
  EXPECT_TRUE(std::isnan(run(kSoftmax, {-kInf, -kInf})));
  EXPECT_EQ(run(kSafeSoftmax, {-kInf, -kInf}), 0);
  EXPECT_TRUE(std::isnan(run(kSafeSoftmax, {-kInf, kNaN})));
  EXPECT_TRUE(std::isnan(run(kSafeSoftmax, {0, kInf})));
  EXPECT_TRUE(std::isnan(run(kSoftmax, {0, 1, 2, kNaN})));
  EXPECT_TRUE(std::isnan(run(kSoftmax, {0, kInf})));
  EXPECT_EQ(run(kSoftmax, {1e38, 0}), 1);
  EXPECT_EQ(run(kLogSoftmax, {-kInf, 0}), -kInf);
}

}  // namespace
}  // namespace unfuse::cpu::testing
