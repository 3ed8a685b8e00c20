#include "targets/cpu/kernels/copy.h"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/strided.h"
#include "targets/cpu/kernels/convert.h"
#include "targets/cpu/kernels/fill.h"

namespace unfuse::cpu::testing {
namespace {

void check_copy(DType dtype, const Sizes& sizes, const Placement& from, const Placement& to) {
  std::mt19937 random(11);
  Strided input(placed(dtype, sizes, from));
  Strided output(placed(dtype, sizes, to));
  input.fill_random(random, 0, 100);
  run_kernel(*select_copy({input.spec(), output.spec(), 2}), {&input, &output});
  expect_close(
      output, [&](const Index& i) { return input.get(i); }, 0);
}

TEST(Copy, EveryLayoutAndElementSize) {
  for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    check_copy(dtype, {}, {}, {});
    check_copy(dtype, {0, 3}, {}, {});
    check_copy(dtype, {70001}, {}, {});
    check_copy(dtype, {50, 37}, {{}, 3}, {});
    check_copy(dtype, {50, 37}, {}, {{}, 5, 2});
    check_copy(dtype, {50, 37}, {{1, 0}}, {});              // transpose
    check_copy(dtype, {300, 517}, {{1, 0}, 3}, {});         // of several blocks
    check_copy(dtype, {3, 50, 4, 37}, {{0, 2, 1, 3}}, {});  // heads
    check_copy(dtype, {3, 50, 4, 37}, {{0, 2, 3, 1}}, {{1, 0, 2, 3}, 1});
    check_copy(dtype, {6, 20, 30}, {{}, 0, 1, {1}}, {});  // expand
    check_copy(dtype, {6, 20, 30}, {{}, 0, 1, {0, 2}}, {{2, 1, 0}});
  }
}

TEST(Copy, Converts) {
  const double kInf = std::numeric_limits<double>::infinity();
  const double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto convert = [](DType from, DType to, double value) {
    Strided input(OperandSpec::contiguous(from, {1}));
    Strided output(OperandSpec::contiguous(to, {1}));
    input.set({0}, value);
    run_kernel(*select_copy({input.spec(), output.spec(), 1}), {&input, &output});
    return output.get({0});
  };
  EXPECT_EQ(convert(DType::kFloat32, DType::kInt64, -2.7), -2);
  EXPECT_EQ(convert(DType::kFloat32, DType::kInt32, 2.7), 2);
  EXPECT_EQ(convert(DType::kFloat32, DType::kUInt8, 300), 44);
  EXPECT_EQ(convert(DType::kFloat32, DType::kBool, 0.25), 1);
  EXPECT_EQ(convert(DType::kFloat32, DType::kBool, kNaN), 1);
  EXPECT_EQ(convert(DType::kInt64, DType::kInt32, 0x100000005), 5);
  EXPECT_EQ(convert(DType::kInt64, DType::kFloat32, 16777217), 16777216);
  EXPECT_EQ(convert(DType::kBool, DType::kFloat32, 1), 1);
  EXPECT_EQ(convert(DType::kFloat32, DType::kFloat16, 70000), kInf);
  EXPECT_EQ(convert(DType::kFloat64, DType::kBFloat16, 1.00390625), 1);
  EXPECT_TRUE(std::isnan(convert(DType::kFloat32, DType::kInt64, kNaN)) == false);
  EXPECT_TRUE(std::isnan(convert(DType::kFloat32, DType::kFloat16, kNaN)));
  EXPECT_TRUE(std::isnan(convert(DType::kBFloat16, DType::kFloat16, kNaN)));
}

TEST(Convert, Float16IsExactBothWays) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wide(all.size());
  float16_to_float32(all.data(), wide.data(), 65536);
  std::vector<std::uint16_t> back(all.size());
  float32_to_float16(wide.data(), back.data(), 65536);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float one = float16_to_float32(all[i]);
    if (std::isnan(one)) {
      ASSERT_TRUE(std::isnan(wide[i]) && (back[i] & 0x7C00) == 0x7C00 && (back[i] & 0x3FF) != 0);
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(one), std::bit_cast<std::uint32_t>(wide[i])) << i;
    ASSERT_EQ(back[i], all[i]);
    // Value by definition.
    const int exponent = static_cast<int>(i >> 10 & 31);
    const double fraction = static_cast<double>(i & 1023);
    double exact =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    if (exponent == 31) exact = std::numeric_limits<double>::infinity();
    ASSERT_EQ(std::abs(one), exact) << i;
  }
}

/// The nearest of all values of a 16-bit format, ties to the even one.
void check_rounding(float value, std::uint16_t rounded, float (*widen)(std::uint16_t)) {
  const double error = std::abs(static_cast<double>(widen(rounded)) - value);
  for (const int step : {-1, 1}) {
    const auto neighbour = static_cast<std::uint16_t>(rounded + step);
    const double other = widen(neighbour);
    if (!std::isfinite(other)) continue;
    const double other_error = std::abs(other - value);
    ASSERT_TRUE(error < other_error || (error == other_error && rounded % 2 == 0))
        << value << " became " << widen(rounded);
  }
}

TEST(Convert, RoundsToNearestEven) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < 0x7F800000u; bits += 4099) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (int half = 0; half < 0x7BFF; ++half) {  // ties
    values.push_back((float16_to_float32(static_cast<std::uint16_t>(half)) +
                      float16_to_float32(static_cast<std::uint16_t>(half + 1))) /
                     2);
  }
  std::vector<std::uint16_t> narrow(values.size());
  const auto count = static_cast<std::int64_t>(values.size());
  float32_to_float16(values.data(), narrow.data(), count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(narrow[i], float32_to_float16(values[i])) << values[i];
    if (values[i] >= 65520) {
      ASSERT_EQ(narrow[i], 0x7C00);
    } else {
      check_rounding(values[i], narrow[i], float16_to_float32);
    }
  }
  float32_to_bfloat16(values.data(), narrow.data(), count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(narrow[i], float32_to_bfloat16(values[i])) << values[i];
    if (values[i] < 3.39e38f) check_rounding(values[i], narrow[i], bfloat16_to_float32);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(bfloat16_to_float32(float32_to_bfloat16(nan))));
  EXPECT_TRUE(std::isnan(bfloat16_to_float32(
      float32_to_bfloat16(std::bit_cast<float>(0x7F800001u)))));  // its high bits alone: infinity
}

TEST(Fill, EveryDtypeAndLayout) {
  for (const DType dtype : {DType::kBool, DType::kInt8, DType::kInt32, DType::kInt64,
                            DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const Placement& placement : {Placement{}, Placement{{1, 0}, 3}, Placement{{}, 0, 2}}) {
      Strided output(placed(dtype, {31, 700}, placement));
      run_kernel(*select_fill({output.spec(), Scalar::integer(1), 2}), {&output});
      expect_close(
          output, [](const Index&) { return 1; }, 0);
    }
  }
  Strided output(OperandSpec::contiguous(DType::kFloat32, {}));
  run_kernel(*select_fill({output.spec(), Scalar::floating(-0.5), 1}), {&output});
  EXPECT_EQ(output.get({}), -0.5);
}

TEST(Arange, IntegersAndFloats) {
  Strided integers(placed(DType::kInt64, {1000}, {{}, 0, 2}));
  run_kernel(*select_arange({integers.spec(), Scalar::integer(5), Scalar::integer(-3), 2}),
             {&integers});
  expect_close(
      integers, [](const Index& i) { return static_cast<double>(5 - 3 * i[0]); }, 0);
  Strided floats(OperandSpec::contiguous(DType::kFloat32, {1000}));
  run_kernel(*select_arange({floats.spec(), Scalar::floating(0.5), Scalar::floating(0.1), 1}),
             {&floats});
  expect_close(
      floats, [](const Index& i) { return 0.5 + 0.1 * static_cast<double>(i[0]); }, 0, 1e-7);
}

}  // namespace
}  // namespace unfuse::cpu::testing
