#include "targets/cpu/kernels/pointwise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/strided.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

PointwiseInstruction instruction(PointwiseOp op, std::array<int, 3> arguments,
                                 RegisterType type = RegisterType::kFloat32,
                                 std::array<double, 3> parameters = {}, std::int64_t integer = 0) {
  return {op, type, arguments, parameters, integer};
}

/// A program of one op over contiguous vectors.
std::vector<double> apply(PointwiseOp op, RegisterType type, DType dtype,
                          const std::vector<std::vector<double>>& inputs,
                          std::array<double, 3> parameters = {}) {
  const auto count = static_cast<std::int64_t>(inputs[0].size());
  PointwiseSpec spec;
  spec.sizes = {count};
  std::vector<Strided> operands;
  std::array<int, 3> arguments = {-1, -1, -1};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    spec.program.inputs.push_back(type);
    spec.inputs.push_back(OperandSpec::contiguous(dtype, {count}));
    operands.emplace_back(spec.inputs.back());
    operands.back().fill(
        [&](const Index& at) { return inputs[i][static_cast<std::size_t>(at[0])]; });
    arguments[i] = static_cast<int>(i);
  }
  spec.program.instructions = {instruction(op, arguments, type, parameters)};
  spec.program.outputs = {static_cast<int>(inputs.size())};
  spec.outputs = {OperandSpec::contiguous(dtype, {count})};
  operands.emplace_back(spec.outputs.back());
  std::vector<Strided*> pointers;
  for (Strided& operand : operands) pointers.push_back(&operand);
  run_kernel(*select_pointwise(spec), pointers);
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(operands.back().get({i}));
  return result;
}

std::vector<double> apply_float(PointwiseOp op, const std::vector<std::vector<double>>& inputs,
                                std::array<double, 3> parameters = {}) {
  return apply(op, RegisterType::kFloat32, DType::kFloat32, inputs, parameters);
}

std::vector<double> apply_integer(PointwiseOp op, const std::vector<std::vector<double>>& inputs,
                                  DType dtype = DType::kInt64) {
  return apply(op, RegisterType::kInt64, dtype, inputs);
}

void expect_same(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i << ": " << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected[i]) << i;
    }
  }
}

/// Distance in units in the last place of the float32 nearest to `exact`.
double ulps(double actual, double exact) {
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : kInf;
  const auto rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(actual)) return rounded == actual ? 0 : kInf;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::abs(actual - exact) / unit;
}

struct Function {
  const char* name;
  PointwiseOp op;
  double (*exact)(double);
  double max_ulps;
  double absolute = 0;  ///< an error that is right too
};

double exact_gelu(double x) { return x * std::erfc(-x * std::sqrt(0.5)) / 2; }
double exact_gelu_tanh(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Accuracy : public ::testing::TestWithParam<Function> {};

/// Every 4099th float32 there is.
TEST_P(Accuracy, NearExactOverAllFloats) {
  const Function& function = GetParam();
  std::vector<double> inputs;
  double worst = 0;
  double worst_input = 0;
  const auto check = [&] {
    const std::vector<double> results = apply_float(function.op, {inputs});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double exact = function.exact(inputs[i]);
      if (std::abs(results[i] - exact) <= function.absolute) continue;
      const double error = ulps(results[i], exact);
      if (error > worst) worst = error, worst_input = inputs[i];
    }
    inputs.clear();
  };
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 4099) {
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (inputs.size() == 65536) check();
  }
  inputs.insert(inputs.end(), {0.0, -0.0, kInf, -kInf, kNaN, 1.0, -1.0});
  check();
  EXPECT_LE(worst, function.max_ulps) << "at " << worst_input;
  RecordProperty("ulps", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(
    Float32, Accuracy,
    ::testing::Values(
        Function{"exp", PointwiseOp::kExp, std::exp, 1.5},
        Function{"exp2", PointwiseOp::kExp2, std::exp2, 1.5},
        Function{"expm1", PointwiseOp::kExpm1, std::expm1, 2},
        Function{"log", PointwiseOp::kLog, std::log, 1.5},
        Function{"log2", PointwiseOp::kLog2, std::log2, 2},
        Function{"log10", PointwiseOp::kLog10, std::log10, 2},
        Function{"log1p", PointwiseOp::kLog1p, std::log1p, 2},
        Function{"tanh", PointwiseOp::kTanh, std::tanh, 1.5},
        Function{"erf", PointwiseOp::kErf, std::erf, 1.5},
        Function{"erfc", PointwiseOp::kErfc, std::erfc, 3},
        // Results of which float32's 1 + exp(-x) overflows count as zero.
        Function{"sigmoid", PointwiseOp::kSigmoid, exact_sigmoid, 2.5, 1.2e-38},
        Function{"sin", PointwiseOp::kSin, std::sin, 2},
        Function{"cos", PointwiseOp::kCos, std::cos, 2},
        Function{"sqrt", PointwiseOp::kSqrt, std::sqrt, 0.5001},
        // In the far tail of gelu the error of log(erfc) grows, far below what float32 sums keep.
        Function{"gelu", PointwiseOp::kGelu, exact_gelu, 3, 3e-7},
        Function{"gelu_tanh", PointwiseOp::kGeluTanh, exact_gelu_tanh, 4, 1e-7}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Pointwise, ArithmeticOnSpecialValues) {
  expect_same(apply_float(PointwiseOp::kMaximum, {{1, kNaN, 3, kInf}, {2, 1, kNaN, -kInf}}),
              {2, kNaN, kNaN, kInf});
  expect_same(apply_float(PointwiseOp::kMinimum, {{1, kNaN, 3, kInf}, {2, 1, kNaN, -kInf}}),
              {1, kNaN, kNaN, -kInf});
  expect_same(apply_float(PointwiseOp::kFmax, {{1, kNaN, 3, kNaN}, {2, 1, kNaN, kNaN}}),
              {2, 1, 3, kNaN});
  expect_same(apply_float(PointwiseOp::kFmin, {{1, kNaN, 3, kNaN}, {2, 1, kNaN, kNaN}}),
              {1, 1, 3, kNaN});
  expect_same(apply_float(PointwiseOp::kDivideFloor, {{7, -7, 1, -6}, {2, 2, 0, 3}}),
              {3, -4, kInf, -2});
  expect_same(apply_float(PointwiseOp::kRemainder, {{7, -7, 5, 1}, {-2, 2, kInf, 0}}),
              {-1, 1, 5, kNaN});
  expect_same(apply_float(PointwiseOp::kFmod, {{7, -7}, {-2, 2}}), {1, -1});
  expect_same(apply_float(PointwiseOp::kDivideTrunc, {{7, -7}, {2, 2}}), {3, -3});
  expect_same(apply_float(PointwiseOp::kSign, {{3, -2, 0, kNaN}}), {1, -1, 0, 0});
  expect_same(apply_float(PointwiseOp::kRound, {{0.5, 1.5, 2.5, -0.5, -1.5}}), {0, 2, 2, 0, -2});
  expect_same(apply_float(PointwiseOp::kPower, {{2, 9, -8, 2}, {3, 0.5, 3, -1}}),
              {8, 3, -512, 0.5});
  expect_same(apply_float(PointwiseOp::kLerp, {{1, 1, 1}, {3, 3, 3}, {0, 1, 0.25}}), {1, 3, 1.5});
  expect_same(apply_float(PointwiseOp::kAtan2, {{0, 1}, {1, 0}}),
              {0, static_cast<double>(std::atan2(1.0f, 0.0f))});
}

TEST(Pointwise, Activations) {
  expect_same(apply_float(PointwiseOp::kRelu, {{-1, 2, kNaN}}), {0, 2, kNaN});
  expect_same(apply_float(PointwiseOp::kLeakyRelu, {{-2, 2, kNaN}}, {0.5}), {-1, 2, kNaN});
  expect_same(apply_float(PointwiseOp::kHardtanh, {{-5, 0.5, 5, kNaN}}, {-1, 2}),
              {-1, 0.5, 2, kNaN});
  expect_same(apply_float(PointwiseOp::kHardsigmoid, {{-4, 0, 3, kNaN}}), {0, 0.5, 1, kNaN});
  expect_same(apply_float(PointwiseOp::kHardswish, {{-4, 0, 3, kNaN}}), {0, 0, 3, kNaN});
  for (const double x : {-50.0, -3.0, -0.1, 0.0, 0.1, 3.0, 50.0}) {
    const auto close = [&](PointwiseOp op, double exact, std::array<double, 3> p = {}) {
      EXPECT_NEAR(apply_float(op, {{x}}, p)[0], exact, 1e-6 * (1 + std::abs(exact))) << x;
    };
    close(PointwiseOp::kSilu, x / (1 + std::exp(-x)));
    close(PointwiseOp::kElu, x > 0 ? 1.5 * x : 0.7 * 1.5 * std::expm1(2 * x), {0.7, 1.5, 2});
    close(PointwiseOp::kSoftplus, 2 * x > 20 ? x : std::log1p(std::exp(2 * x)) / 2, {2, 20});
    close(PointwiseOp::kMish, x * std::tanh(std::log1p(std::exp(x))));
    close(PointwiseOp::kLogSigmoid, -std::log1p(std::exp(-x)));
  }
}

TEST(Pointwise, ComparisonsTestsAndLogic) {
  const std::vector<std::vector<double>> pairs = {{1, 2, kNaN, 2}, {1, 1, 1, 3}};
  expect_same(apply_float(PointwiseOp::kEqual, pairs), {1, 0, 0, 0});
  expect_same(apply_float(PointwiseOp::kNotEqual, pairs), {0, 1, 1, 1});
  expect_same(apply_float(PointwiseOp::kLess, pairs), {0, 0, 0, 1});
  expect_same(apply_float(PointwiseOp::kLessEqual, pairs), {1, 0, 0, 1});
  expect_same(apply_float(PointwiseOp::kGreater, pairs), {0, 1, 0, 0});
  expect_same(apply_float(PointwiseOp::kGreaterEqual, pairs), {1, 1, 0, 0});
  const std::vector<std::vector<double>> values = {{1, kInf, -kInf, kNaN, 0}};
  expect_same(apply_float(PointwiseOp::kIsNan, values), {0, 0, 0, 1, 0});
  expect_same(apply_float(PointwiseOp::kIsInf, values), {0, 1, 1, 0, 0});
  expect_same(apply_float(PointwiseOp::kIsFinite, values), {1, 0, 0, 0, 1});
  expect_same(apply_float(PointwiseOp::kLogicalNot, values), {0, 0, 0, 0, 1});
  expect_same(apply_float(PointwiseOp::kToBool, values), {1, 1, 1, 1, 0});
  const std::vector<std::vector<double>> truths = {{0, 0, 2, kNaN}, {0, 3, 0, 1}};
  expect_same(apply_float(PointwiseOp::kLogicalAnd, truths), {0, 0, 0, 1});
  expect_same(apply_float(PointwiseOp::kLogicalOr, truths), {0, 1, 1, 1});
  expect_same(apply_float(PointwiseOp::kLogicalXor, truths), {0, 1, 1, 0});
  expect_same(apply_float(PointwiseOp::kWhere, {{0, 1, kNaN}, {1, 2, 3}, {4, 5, kNaN}}), {4, 2, 3});
}

TEST(Pointwise, Integers) {
  expect_same(apply_integer(PointwiseOp::kDivideFloor, {{7, -7, 7, -6}, {2, 2, -2, 3}}),
              {3, -4, -4, -2});
  expect_same(apply_integer(PointwiseOp::kDivideTrunc, {{7, -7, 7}, {2, 2, -2}}), {3, -3, -3});
  expect_same(apply_integer(PointwiseOp::kRemainder, {{7, -7, 7, -7}, {3, 3, -3, -3}}),
              {1, 2, -2, -1});
  expect_same(apply_integer(PointwiseOp::kFmod, {{7, -7, 7, -7}, {3, 3, -3, -3}}), {1, -1, 1, -1});
  expect_same(apply_integer(PointwiseOp::kPower, {{2, 1, -1, 3, -1, 0}, {-1, -3, -3, 3, -2, -1}}),
              {0, 1, -1, 27, 1, 0});
  expect_same(apply_integer(PointwiseOp::kShiftLeft, {{1, 1, -8}, {3, 64, 1}}), {8, 0, -16});
  expect_same(apply_integer(PointwiseOp::kShiftRight, {{100, -8, -8}, {2, 1, 65}}), {25, -4, -1});
  expect_same(apply_integer(PointwiseOp::kBitwiseXor, {{5, -1}, {3, 1}}), {6, -2});
  expect_same(apply_integer(PointwiseOp::kBitwiseNot, {{0, 5}}), {-1, -6});
  // Narrow integers wrap around at their own width.
  expect_same(apply_integer(PointwiseOp::kAdd, {{250, 3}, {10, 4}}, DType::kUInt8), {4, 7});
  expect_same(apply_integer(PointwiseOp::kMultiply, {{100, 3}, {2, 4}}, DType::kInt8), {-56, 12});
  expect_same(apply_integer(PointwiseOp::kNegate, {{-128, 3}}, DType::kInt8), {-128, -3});
  EXPECT_THROW(apply_integer(PointwiseOp::kDivideFloor, {{1}, {0}}), Error);
  const double smallest = -0x1p63;
  expect_same(apply_integer(PointwiseOp::kDivideFloor, {{smallest}, {-1}}), {smallest});
  expect_same(apply_integer(PointwiseOp::kRemainder, {{smallest}, {-1}}), {0});
}

TEST(Pointwise, Float64) {
  const auto apply64 = [](PointwiseOp op, const std::vector<std::vector<double>>& inputs) {
    return apply(op, RegisterType::kFloat64, DType::kFloat64, inputs);
  };
  expect_same(apply64(PointwiseOp::kExp, {{1, -2}}), {std::exp(1.0), std::exp(-2.0)});
  expect_same(apply64(PointwiseOp::kMaximum, {{kNaN, 1, 2}, {1, kNaN, 1}}), {kNaN, kNaN, 2});
  EXPECT_NEAR(apply64(PointwiseOp::kGelu, {{1}})[0], exact_gelu(1), 1e-15);
}

struct Layout {
  const char* name;
  Sizes sizes;
  Placement left, right, output;
};

class Layouts : public ::testing::TestWithParam<Layout> {};

/// (a * b + a) and (b > 0), of float32 and bfloat16 inputs, into float32 and bool.
TEST_P(Layouts, ChainOverStridedOperands) {
  const Layout& layout = GetParam();
  std::mt19937 random(7);
  Strided left(placed(DType::kFloat32, layout.sizes, layout.left));
  Strided right(placed(DType::kBFloat16, layout.sizes, layout.right));
  Strided sum(placed(DType::kFloat32, layout.sizes, layout.output));
  Strided positive(placed(DType::kBool, layout.sizes, layout.output));
  left.fill_random(random);
  right.fill_random(random);
  PointwiseSpec spec;
  spec.program.inputs = {RegisterType::kFloat32, RegisterType::kFloat32};
  spec.program.instructions = {instruction(PointwiseOp::kMultiply, {0, 1, -1}),
                               instruction(PointwiseOp::kAdd, {2, 0, -1}),
                               instruction(PointwiseOp::kConstant, {-1, -1, -1}),
                               instruction(PointwiseOp::kGreater, {1, 4, -1})};
  spec.program.outputs = {3, 5};
  spec.sizes = layout.sizes;
  spec.inputs = {left.spec(), right.spec()};
  spec.outputs = {sum.spec(), positive.spec()};
  spec.threads = 2;
  run_kernel(*select_pointwise(spec), {&left, &right, &sum, &positive});
  expect_close(
      sum, [&](const Index& i) { return left.get(i) * right.get(i) + left.get(i); }, 1e-6);
  expect_close(
      positive, [&](const Index& i) { return right.get(i) > 0; }, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Pointwise, Layouts,
    ::testing::Values(Layout{"scalar", {}, {}, {}, {}}, Layout{"empty", {3, 0, 2}, {}, {}, {}},
                      Layout{"one", {1, 1}, {}, {}, {}}, Layout{"vector", {1027}, {}, {}, {}},
                      Layout{"long_rows", {5, 1500}, {{}, 3}, {}, {{}, 1}},
                      Layout{"bias", {300, 257}, {}, {{}, 0, 1, {0}}, {}},
                      Layout{"column", {300, 257}, {}, {{}, 0, 1, {1}}, {}},
                      Layout{"uniform", {30, 25}, {}, {{}, 0, 1, {0, 1}}, {}},
                      Layout{"both_broadcast", {64, 7, 33}, {{}, 0, 1, {0}}, {{}, 0, 1, {1}}, {}},
                      Layout{"transposed", {40, 33, 21}, {{2, 1, 0}}, {{0, 2, 1}, 5}, {}},
                      Layout{"permuted_output", {40, 33, 21}, {}, {}, {{1, 2, 0}, 2, 2}},
                      Layout{"steps", {17, 19}, {{}, 0, 3}, {{}, 2, 2}, {{}, 0, 2}},
                      Layout{"short_rows", {1000, 3}, {{}, 1}, {}, {{}, 2}},
                      Layout{"big", {200, 1000}, {}, {}, {}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Pointwise, InPlaceWithAnotherOutput) {
  const Sizes sizes = {1000};
  Strided x(OperandSpec::contiguous(DType::kFloat32, sizes));
  Strided copy(OperandSpec::contiguous(DType::kFloat32, sizes));
  x.fill([](const Index& i) { return static_cast<double>(i[0]) - 500; });
  PointwiseSpec spec;
  spec.program.inputs = {RegisterType::kFloat32};
  spec.program.instructions = {instruction(PointwiseOp::kNegate, {0, -1, -1}),
                               instruction(PointwiseOp::kRelu, {0, -1, -1})};
  spec.program.outputs = {2, 0};  // relu(x) over x itself, and x elsewhere
  spec.sizes = sizes;
  spec.inputs = {x.spec()};
  spec.outputs = {x.spec(), copy.spec()};
  run_kernel_on(*select_pointwise(spec), {x.data(), x.data(), copy.data()});
  expect_close(
      copy, [](const Index& i) { return static_cast<double>(i[0]) - 500; }, 0);
  expect_close(
      x, [](const Index& i) { return std::max(0.0, static_cast<double>(i[0]) - 500); }, 0);
}

TEST(Pointwise, TypesMixThroughConversions) {
  // tril: where(column <= row, x, 0) with int64 coordinates, and int64 tensors as floats.
  const Sizes sizes = {37, 45};
  std::mt19937 random(3);
  Strided x(OperandSpec::contiguous(DType::kFloat32, sizes));
  Strided y(placed(DType::kFloat32, sizes, {{1, 0}}));
  x.fill_random(random);
  PointwiseSpec spec;
  spec.program.inputs = {RegisterType::kFloat32};
  const auto kI = RegisterType::kInt64;
  spec.program.instructions = {instruction(PointwiseOp::kCoordinate, {-1, -1, -1}, kI, {}, 0),
                               instruction(PointwiseOp::kCoordinate, {-1, -1, -1}, kI, {}, 1),
                               instruction(PointwiseOp::kLessEqual, {2, 1, -1}, kI),
                               instruction(PointwiseOp::kToFloat32, {3, -1, -1}, kI),
                               instruction(PointwiseOp::kConstant, {-1, -1, -1}),
                               instruction(PointwiseOp::kWhere, {4, 0, 5})};
  spec.program.outputs = {6};
  spec.sizes = sizes;
  spec.inputs = {x.spec()};
  spec.outputs = {y.spec()};
  run_kernel(*select_pointwise(spec), {&x, &y});
  expect_close(
      y, [&](const Index& i) { return i[1] <= i[0] ? x.get(i) : 0.0; }, 0);
}

TEST(Pointwise, MalformedProgramsAreRefused) {
  PointwiseSpec spec;
  spec.sizes = {4};
  spec.program.inputs = {RegisterType::kFloat32};
  spec.inputs = {OperandSpec::contiguous(DType::kFloat32, {4})};
  spec.outputs = spec.inputs;
  spec.program.outputs = {1};
  const auto refused = [&](PointwiseInstruction bad) {
    spec.program.instructions = {bad};
    EXPECT_THROW(select_pointwise(spec), Error);
  };
  refused(instruction(PointwiseOp::kAdd, {0, 1, -1}));                              // uses itself
  refused(instruction(PointwiseOp::kAdd, {0, -1, -1}));                             // too few
  refused(instruction(PointwiseOp::kAbsolute, {0, -1, -1}, RegisterType::kInt64));  // wrong type
  refused(instruction(PointwiseOp::kBitwiseNot, {0, -1, -1}));  // no such op on floats
}

}  // namespace
}  // namespace unfuse::cpu::testing
