#include "targets/cpu/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>

#include "kernels/strided.h"
#include "targets/cpu/kernels/convert.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

double activate(Epilogue epilogue, double x) {
  switch (epilogue) {
    case Epilogue::kNone:
      return x;
    case Epilogue::kRelu:
      return std::max(x, 0.0);
    case Epilogue::kGelu:
      return x * std::erfc(-x * std::sqrt(0.5)) / 2;
    case Epilogue::kGeluTanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Epilogue::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

enum class Residual { kNone, kOwnMemory, kInPlace };

struct LinearCase {
  Sizes leading;
  std::int64_t in_features;
  std::int64_t out_features;
  bool has_bias = true;
  Epilogue epilogue = Epilogue::kNone;
  DType weight_dtype = DType::kFloat32;
  Placement weight_placement = {};
  std::int64_t gap = 0;  ///< between rows of input and output
  Residual residual = Residual::kNone;
  /// Between rows of the input and of the residual, when other than `gap`; negative: they overlap.
  std::optional<std::int64_t> input_gap = {};
  std::optional<std::int64_t> residual_gap = {};
  Products products = Products::kFloat32;
};

/// A number as it is multiplied; what split products leave out is within the tolerance.
double factor(double value, Products products) {
  if (packing_of(products) != Packing::kPairs) return value;
  return static_cast<double>(bfloat16_to_float32(float32_to_bfloat16(static_cast<float>(value))));
}

void check_linear(const LinearCase& test) {
  std::mt19937 random(5);
  Sizes input_sizes = test.leading;
  input_sizes.push_back(test.in_features);
  Sizes output_sizes = test.leading;
  output_sizes.push_back(test.out_features);
  Strided input(placed(DType::kFloat32, input_sizes, {{}, test.input_gap.value_or(test.gap)}));
  Strided output(placed(DType::kFloat32, output_sizes, {{}, test.gap}));
  Strided residual(
      placed(DType::kFloat32, output_sizes, {{}, test.residual_gap.value_or(2 * test.gap)}));
  Strided weight(
      placed(test.weight_dtype, {test.out_features, test.in_features}, test.weight_placement));
  Strided bias(OperandSpec::contiguous(DType::kFloat32, {test.out_features}));
  input.fill_random(random);
  weight.fill_random(random);
  bias.fill_random(random);
  residual.fill_random(random);
  if (test.residual == Residual::kInPlace) {
    output.fill([&](const Index& at) { return residual.get(at); });
  }

  const PackedPtr packed =
      pack_linear_weight(weight.spec(), weight.data(), packing_of(test.products), 2);
  PackedLinearSpec spec;
  spec.products = test.products;
  spec.input = input.spec();
  spec.out_features = test.out_features;
  spec.has_bias = test.has_bias;
  spec.epilogue = test.epilogue;
  spec.output = output.spec();
  spec.threads = 2;
  std::vector<void*> operands = {input.data(), packed_operand(*packed)};
  if (test.has_bias) operands.push_back(bias.data());
  if (test.residual == Residual::kInPlace) {
    spec.residual = output.spec();
    operands.push_back(output.data());
  } else if (test.residual == Residual::kOwnMemory) {
    spec.residual = residual.spec();
    operands.push_back(residual.data());
  }
  operands.push_back(output.data());
  run_kernel_on(*select_packed_linear(spec), operands);
  output.expect_gaps_untouched();
  // Split numbers keep 16 bits: each product is off by 2^-16 of itself at most.
  const double of_product = test.products == Products::kSplitTiles ? 4e-5 : 1e-5;
  const double tolerance = of_product * std::sqrt(static_cast<double>(test.in_features + 1));
  expect_close(
      output,
      [&](const Index& at) {
        Index from = at;
        double sum = test.has_bias ? bias.get({at.back()}) : 0;
        for (std::int64_t k = 0; k < test.in_features; ++k) {
          from.back() = k;
          sum += factor(input.get(from), test.products) *
                 factor(weight.get({at.back(), k}), test.products);
        }
        const double added = test.residual == Residual::kNone ? 0 : residual.get(at);
        return activate(test.epilogue, sum) + added;
      },
      tolerance);
}

TEST(PackedLinear, SizesAndLayouts) {
  for (const std::int64_t rows : {1, 2, 7, 64, 131}) {
    check_linear({{rows}, 64, 96});
    check_linear({{rows}, 33, 17, false});
    check_linear({{rows}, 1, 1});
  }
  check_linear({{}, 20, 30});
  check_linear({{2, 3, 5}, 48, 40});
  check_linear({{2, 3, 5}, 48, 40, true, Epilogue::kNone, DType::kFloat32, {}, 16});
  check_linear({{9}, 48, 40, true, Epilogue::kNone, DType::kFloat32, {{1, 0}, 3}});
  check_linear({{9}, 48, 40, true, Epilogue::kNone, DType::kFloat16});
  check_linear({{9}, 48, 40, true, Epilogue::kNone, DType::kBFloat16, {{1, 0}}});
  check_linear({{40}, 768, 100});
}

TEST(PackedLinear, SeveralBlocksOfDepth) {
  for (const std::int64_t depth : {191, 192, 193, 384, 500}) {
    check_linear({{1}, depth, 33});
    check_linear({{37}, depth, 33, false});
    check_linear({{37}, depth, 33, true, Epilogue::kRelu, DType::kFloat32, {}, 5});
    check_linear({{2, 5}, depth, 33, true, Epilogue::kGelu, DType::kFloat16, {{1, 0}}});
  }
}

class NarrowPackedLinear : public ::testing::TestWithParam<Products> {};

INSTANTIATE_TEST_SUITE_P(Products, NarrowPackedLinear,
                         ::testing::Values(Products::kBFloat16, Products::kBFloat16Tiles,
                                           Products::kSplitTiles));

TEST_P(NarrowPackedLinear, RoundsWhatItMultiplies) {
  LinearCase test = {{9}, 48, 40};
  test.products = GetParam();
  if (!has_products(test.products)) {
    EXPECT_THROW(check_linear(test), Error);
    return;
  }
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32, DType::kFloat16}) {
    test.weight_dtype = dtype;
    for (const Placement& placement : {Placement{}, Placement{{1, 0}, 3}}) {
      test.weight_placement = placement;
      for (const std::int64_t rows : {1, 5, 64, 131}) {
        for (const std::int64_t depth : {1, 2, 33, 255, 256, 257, 600}) {
          test.leading = {rows};
          test.in_features = depth;
          test.out_features = depth == 33 ? 1 : 90;
          check_linear(test);
        }
      }
    }
  }
  test = {{2, 13}, 301, 70, true, Epilogue::kGelu, DType::kBFloat16, {}, 5, Residual::kInPlace};
  test.products = GetParam();
  check_linear(test);
  test.epilogue = Epilogue::kRelu;
  test.residual = Residual::kNone;
  test.input_gap = -3;
  check_linear(test);
}

/// Infinities and NaN reach what they are multiplied with, as they are, and nothing else.
TEST(PackedLinear, SplitProductsKeepInfinities) {
  if (!has_products(Products::kSplitTiles)) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::int64_t kRows = 4, kDepth = 40, kColumns = 20;
  std::mt19937 random(8);
  Strided input(OperandSpec::contiguous(DType::kFloat32, {kRows, kDepth}));
  Strided weight(OperandSpec::contiguous(DType::kFloat32, {kColumns, kDepth}));
  Strided output(OperandSpec::contiguous(DType::kFloat32, {kRows, kColumns}));
  input.fill_random(random);
  weight.fill_random(random);
  // 1 and 0.5 are bfloat16: they have no low part.
  weight.set({1, 3}, 1);
  input.set({2, 7}, 0.5);
  input.set({0, 3}, kInfinity);
  weight.set({5, 7}, -kInfinity);
  input.set({3, 0}, std::nan(""));
  const PackedPtr packed =
      pack_linear_weight(weight.spec(), weight.data(), Packing::kSplitPairs, 1);
  PackedLinearSpec spec;
  spec.input = input.spec();
  spec.out_features = kColumns;
  spec.output = output.spec();
  spec.products = Products::kSplitTiles;
  run_kernel_on(*select_packed_linear(spec),
                {input.data(), packed_operand(*packed), output.data()});
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        sum += input.get({row, k}) * weight.get({column, k});
      }
      const double result = output.get({row, column});
      EXPECT_EQ(std::isnan(result), std::isnan(sum)) << row << ", " << column;
      if (std::isinf(sum)) {
        EXPECT_EQ(result, sum) << row << ", " << column;
      }
    }
  }
}

TEST(PackedLinear, Epilogues) {
  for (const Epilogue epilogue :
       {Epilogue::kRelu, Epilogue::kGelu, Epilogue::kGeluTanh, Epilogue::kSilu}) {
    check_linear({{37}, 24, 50, true, epilogue});
    check_linear({{37}, 24, 50, false, epilogue, DType::kFloat32, {}, 7});
    check_linear({{3}, 0, 50, true, epilogue});
  }
}

TEST(PackedLinear, ResidualIsAddedAfterTheEpilogue) {
  for (const Residual residual : {Residual::kOwnMemory, Residual::kInPlace}) {
    for (const Epilogue epilogue : {Epilogue::kNone, Epilogue::kRelu, Epilogue::kGelu,
                                    Epilogue::kGeluTanh, Epilogue::kSilu}) {
      const auto check = [&](Sizes leading, std::int64_t depth, std::int64_t columns, bool has_bias,
                             std::int64_t gap) {
        check_linear({std::move(leading),
                      depth,
                      columns,
                      has_bias,
                      epilogue,
                      DType::kFloat32,
                      {},
                      gap,
                      residual});
      };
      check({37}, 24, 96, true, 0);
      check({2, 19}, 150, 50, false, 7);
      check({3}, 500, 101, true, 0);
      check({3}, 0, 50, true, 3);
      check({3}, 0, 50, false, 0);
      check({0}, 8, 8, true, 0);
    }
  }
}

TEST(PackedLinear, NothingToDo) {
  check_linear({{0}, 8, 8});
  check_linear({{4, 0}, 8, 8});
  check_linear({{4}, 0, 8});
  check_linear({{4}, 0, 8, false});
  check_linear({{4}, 8, 0});
  check_linear({{0}, 0, 0});
}

TEST(PackedLinear, RowsThatAreReadMayOverlap) {
  for (const Sizes& leading : {Sizes{1}, Sizes{7}, Sizes{64}, Sizes{3, 37}}) {
    for (const std::int64_t depth : {1, 24, 150}) {
      constexpr std::int64_t kColumns = 50;
      // Rows at distances of 0, 1, just less than a row, a row, and more.
      for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{1}, depth - 1, depth + 3}) {
        LinearCase test{leading, depth, kColumns};
        test.input_gap = distance - depth;
        check_linear(test);
        test.residual = Residual::kOwnMemory;
        test.residual_gap = std::min(distance, kColumns) - kColumns;
        check_linear(test);
      }
    }
  }
}

TEST(PackedLinear, RowsMayBeReadBackwards) {
  constexpr std::int64_t kRows = 21;
  constexpr std::int64_t kDepth = 12;
  constexpr std::int64_t kColumns = 40;
  std::mt19937 random(5);
  Strided input(placed(DType::kFloat32, {kRows, kDepth}));
  Strided weight(placed(DType::kFloat32, {kColumns, kDepth}));
  input.fill_random(random);
  weight.fill_random(random);
  const PackedPtr packed = pack_linear_weight(weight.spec(), weight.data(), Packing::kFloat32, 2);
  PackedLinearSpec spec;
  spec.out_features = kColumns;
  spec.output = placed(DType::kFloat32, {kRows, kColumns});
  spec.threads = 2;
  const auto multiply = [&](std::int64_t stride, float* first) {
    Strided output(spec.output);
    spec.input = {DType::kFloat32, {kRows, kDepth}, {stride, 1}};
    run_kernel_on(*select_packed_linear(spec), {first, packed_operand(*packed), output.data()});
    return output;
  };
  auto* first = static_cast<float*>(input.data());
  const Strided forwards = multiply(kDepth, first);
  const Strided backwards = multiply(-kDepth, first + (kRows - 1) * kDepth);
  expect_close(
      backwards,
      [&](const Index& at) {
        return forwards.get({kRows - 1 - at[0], at[1]});
      },
      0);
}

TEST(PackedLinear, RefusesOtherStrides) {
  const auto reads = [](const OperandSpec& rows) { return packed_linear_reads(rows); };
  const auto writes = [](const OperandSpec& rows) { return packed_linear_writes(rows); };
  const OperandSpec one_row_repeated = placed(DType::kFloat32, {4, 8}, {{}, 0, 1, {0}});
  const OperandSpec overlapping = placed(DType::kFloat32, {4, 8}, {{}, -1});
  for (const auto& takes : {+reads, +writes}) {
    EXPECT_TRUE(takes(placed(DType::kFloat32, {4, 8})));
    EXPECT_TRUE(takes(placed(DType::kFloat32, {1, 8}, {{}, 0, 1, {0}})));
    EXPECT_TRUE(takes(placed(DType::kFloat32, {0, 8})));
    EXPECT_FALSE(takes(placed(DType::kFloat32, {4, 8}, {{1, 0}})));
    EXPECT_FALSE(takes(placed(DType::kFloat32, {3, 4, 8}, {{1, 0, 2}})));
    EXPECT_FALSE(takes(placed(DType::kFloat32, {3, 4, 8}, {{}, 0, 1, {0}})));
    EXPECT_FALSE(takes(placed(DType::kFloat16, {4, 8})));
    const bool reading = takes == +reads;
    EXPECT_EQ(takes(one_row_repeated), reading);
    EXPECT_EQ(takes(overlapping), reading);
    EXPECT_EQ(takes(placed(DType::kFloat32, {3, 4, 8}, {{}, 0, 1, {0, 1}})), reading);
  }
  PackedLinearSpec spec;
  spec.input = placed(DType::kFloat32, {4, 8}, {{1, 0}});
  spec.out_features = 3;
  spec.output = placed(DType::kFloat32, {4, 3});
  EXPECT_THROW(select_packed_linear(spec), Error);
  spec.input = placed(DType::kFloat32, {4, 8});
  EXPECT_NO_THROW(select_packed_linear(spec));
  spec.output = placed(DType::kFloat32, {4, 3}, {{}, -1});
  EXPECT_THROW(select_packed_linear(spec), Error);
  spec.output = placed(DType::kFloat32, {4, 3});
  spec.residual = placed(DType::kFloat32, {4, 3}, {{1, 0}});
  EXPECT_THROW(select_packed_linear(spec), Error);
  spec.residual = placed(DType::kFloat32, {3, 3});
  EXPECT_THROW(select_packed_linear(spec), Error);
}

TEST(PackedLinear, ManyBlocksOfRowsAndPanels) {
  check_linear(
      {{421}, 130, 150, true, Epilogue::kGelu, DType::kFloat32, {}, 3, Residual::kOwnMemory});
  // So deep that few rows go by a panel at once.
  check_linear(
      {{131}, 2800, 70, false, Epilogue::kNone, DType::kFloat32, {}, 0, Residual::kInPlace});
}

TEST(PackedLinear, SameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(5);
  for (const std::int64_t rows : {1, 5, 16, 203}) {
    Strided input(placed(DType::kFloat32, {rows, 300}));
    Strided weight(placed(DType::kFloat32, {333, 300}));
    input.fill_random(random);
    weight.fill_random(random);
    const PackedPtr packed = pack_linear_weight(weight.spec(), weight.data(), Packing::kFloat32, 1);
    PackedLinearSpec spec;
    spec.input = input.spec();
    spec.out_features = 333;
    spec.output = placed(DType::kFloat32, {rows, 333});
    std::vector<Strided> outputs(5, Strided(spec.output));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      spec.threads = std::vector<int>{1, 2, 3, 4, 16}[i];
      run_kernel_on(*select_packed_linear(spec),
                    {input.data(), packed_operand(*packed), outputs[i].data()});
    }
    for (const Strided& output : outputs) {
      expect_close(
          output, [&](const Index& at) { return outputs[0].get(at); }, 0);
    }
  }
}

TEST(PackedLinear, RunsFromManyThreads) {
  std::mt19937 random(5);
  Strided input(placed(DType::kFloat32, {100, 64}));
  Strided weight(placed(DType::kFloat32, {48, 64}));
  input.fill_random(random);
  weight.fill_random(random);
  const PackedPtr packed = pack_linear_weight(weight.spec(), weight.data(), Packing::kFloat32, 1);
  PackedLinearSpec spec;
  spec.input = input.spec();
  spec.out_features = 48;
  spec.output = placed(DType::kFloat32, {100, 48});
  const KernelPtr kernel = select_packed_linear(spec);
  std::vector<std::thread> threads;
  std::vector<Strided> outputs(4, Strided(spec.output));
  for (Strided& output : outputs) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        run_kernel_on(*kernel, {input.data(), packed_operand(*packed), output.data()});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Strided& output : outputs) {
    expect_close(
        output, [&](const Index& at) { return outputs[0].get(at); }, 0);
  }
}

struct MatmulCase {
  const char* name;
  Sizes batch;
  std::int64_t m, k, n;
  Placement a = {}, b = {}, output = {};
  bool has_bias = false;
  float alpha = 1;
};

class Matmul : public ::testing::TestWithParam<MatmulCase> {};

TEST_P(Matmul, MatchesReference) {
  const MatmulCase& test = GetParam();
  std::mt19937 random(5);
  const auto with = [&](std::int64_t rows, std::int64_t columns) {
    Sizes sizes = test.batch;
    sizes.push_back(rows);
    sizes.push_back(columns);
    return sizes;
  };
  Strided a(placed(DType::kFloat32, with(test.m, test.k), test.a));
  Strided b(placed(DType::kFloat32, with(test.k, test.n), test.b));
  Strided output(placed(DType::kFloat32, with(test.m, test.n), test.output));
  Strided bias(placed(DType::kFloat32, {test.n}));
  a.fill_random(random);
  b.fill_random(random);
  bias.fill_random(random);
  const MatmulSpec spec = {a.spec(), b.spec(), test.has_bias, test.alpha, output.spec(), 2};
  std::vector<Strided*> operands = {&a, &b};
  if (test.has_bias) operands.push_back(&bias);
  operands.push_back(&output);
  run_kernel(*select_matmul(spec), operands);
  expect_close(
      output,
      [&](const Index& at) {
        Index left = at;
        Index right = at;
        double sum = 0;
        for (std::int64_t k = 0; k < test.k; ++k) {
          left.back() = k;
          right[right.size() - 2] = k;
          sum += a.get(left) * b.get(right);
        }
        return test.alpha * sum + (test.has_bias ? bias.get({at.back()}) : 0);
      },
      1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Matmul,
    ::testing::Values(
        MatmulCase{"plain", {}, 17, 33, 29}, MatmulCase{"row", {}, 1, 33, 29},
        MatmulCase{"column", {}, 17, 33, 1}, MatmulCase{"dot", {}, 1, 33, 1},
        MatmulCase{"outer", {}, 17, 1, 29}, MatmulCase{"batch", {6}, 17, 33, 29},
        MatmulCase{"alpha", {6}, 17, 33, 29, {}, {}, {}, false, 0.125f},
        MatmulCase{"bias", {6}, 17, 33, 29, {}, {}, {}, true},
        MatmulCase{"one_row_of_a", {4}, 17, 33, 29, {{}, 0, 1, {1}}},
        MatmulCase{"overlapping_rows_of_a", {}, 17, 33, 29, {{}, -30}},
        MatmulCase{"transposed_b", {4}, 17, 33, 29, {}, {{0, 2, 1}}},
        MatmulCase{"transposed_b_bias", {}, 17, 33, 29, {}, {{1, 0}}, {}, true},
        MatmulCase{"transposed_b_gaps", {4}, 17, 33, 29, {{}, 3}, {{0, 2, 1}, 5}},
        // Heads: [B, L, H, D] seen as [B, H, L, D].
        MatmulCase{"heads", {2, 3}, 17, 16, 17, {{0, 2, 1, 3}}, {{0, 3, 1, 2}}},
        MatmulCase{"heads_out", {2, 3}, 17, 17, 16, {}, {{0, 2, 1, 3}}, {{0, 2, 1, 3}}},
        MatmulCase{"broadcast_b", {5}, 17, 33, 29, {}, {{}, 0, 1, {0}}},
        MatmulCase{"broadcast_b_heads", {2, 3}, 17, 16, 9, {{0, 2, 1, 3}}, {{}, 0, 1, {0, 1}}},
        MatmulCase{"broadcast_a", {5}, 17, 33, 29, {{}, 0, 1, {0}}},
        MatmulCase{"broadcast_mixed", {2, 3, 2}, 7, 8, 9, {{}, 0, 1, {1}}, {{}, 0, 1, {0, 2}}},
        MatmulCase{"gaps", {3}, 17, 33, 29, {{}, 3}, {{}, 5}, {{}, 7}},
        MatmulCase{"deep", {}, 17, 401, 29},
        MatmulCase{"deep_bias", {}, 17, 401, 29, {}, {}, {}, true},
        MatmulCase{"deep_alpha", {3}, 17, 401, 29, {}, {{0, 2, 1}}, {}, false, 0.125f},
        MatmulCase{"alpha_bias", {3}, 17, 33, 29, {}, {}, {}, true, -2.5f},
        MatmulCase{"few_rows", {3}, 5, 150, 64}, MatmulCase{"few_rows_ragged", {3}, 5, 33, 83},
        MatmulCase{"many_rows", {}, 400, 40, 83, {}, {{1, 0}}},
        MatmulCase{"many_small", {37}, 6, 7, 9, {}, {{0, 2, 1}}},
        MatmulCase{"deep_heads", {2, 3}, 7, 401, 16, {}, {{0, 2, 1, 3}}, {{0, 2, 1, 3}}},
        MatmulCase{"no_rows", {3}, 0, 4, 5}, MatmulCase{"no_columns", {3}, 4, 4, 0},
        MatmulCase{"no_depth", {3}, 4, 0, 5},
        MatmulCase{"no_depth_bias", {3}, 4, 0, 5, {}, {}, {}, true},
        MatmulCase{"no_batch", {0}, 4, 4, 5}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(MatmulStrides, LeftIsRowsRightIsRowsOrColumns) {
  const OperandSpec rows = placed(DType::kFloat32, {3, 4, 8});
  const OperandSpec columns = placed(DType::kFloat32, {3, 4, 8}, {{0, 2, 1}});
  const OperandSpec neither = placed(DType::kFloat32, {3, 4, 8}, {{1, 2, 0}});
  const OperandSpec gaps = placed(DType::kFloat32, {4, 8}, {{}, 0, 2});
  const OperandSpec one_row_repeated = placed(DType::kFloat32, {4, 8}, {{}, 0, 1, {0}});
  const OperandSpec one_column = placed(DType::kFloat32, {4, 1}, {{}, 0, 3});
  EXPECT_TRUE(matmul_reads_left(rows));
  EXPECT_FALSE(matmul_reads_left(columns));
  EXPECT_FALSE(matmul_reads_left(neither));
  EXPECT_FALSE(matmul_reads_left(gaps));
  EXPECT_TRUE(matmul_reads_left(one_row_repeated));
  EXPECT_TRUE(matmul_reads_left(one_column));
  EXPECT_TRUE(matmul_reads_right(rows));
  EXPECT_TRUE(matmul_reads_right(columns));
  EXPECT_FALSE(matmul_reads_right(neither));
  EXPECT_FALSE(matmul_reads_right(gaps));
  EXPECT_TRUE(matmul_reads_right(one_row_repeated));
  EXPECT_TRUE(matmul_reads_right(one_column));
  MatmulSpec spec = {rows, placed(DType::kFloat32, {3, 8, 5}), false, 1,
                     placed(DType::kFloat32, {3, 4, 5})};
  EXPECT_NO_THROW(select_matmul(spec));
  spec.a = columns;
  EXPECT_THROW(select_matmul(spec), Error);
  spec.a = rows;
  spec.output = placed(DType::kFloat32, {3, 4, 5}, {{}, 0, 1, {1}});
  EXPECT_THROW(select_matmul(spec), Error);
}

}  // namespace
}  // namespace unfuse::cpu::testing
