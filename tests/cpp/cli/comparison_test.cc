#include "cli/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace unfuse::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
Tensor row(DType dtype, const std::vector<T>& values) {
  const Tensor tensor = Tensor::empty(dtype, {static_cast<std::int64_t>(values.size())});
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

Tensor floats(const std::vector<float>& values) { return row(DType::kFloat32, values); }

TEST(Comparison, MeasuresTheLargestDifference) {
  const Comparison found = compare(floats({1, 2.5F, -4}), floats({1, 2, -5}), {0, 0.75});
  EXPECT_EQ(found.largest_absolute, 1);
  EXPECT_EQ(found.largest_relative, 0.25);
  EXPECT_EQ(found.where_absolute, 2);
  EXPECT_EQ(found.mismatches, 1);
  EXPECT_TRUE(compare(floats({1, 2.5F, -4}), floats({1, 2, -5}), {0.25, 0}).matches());
}

TEST(Comparison, NaNMatchesNaNAlone) {
  const float nan = std::nanf("");
  EXPECT_TRUE(compare(floats({nan}), floats({nan}), {}).matches());
  EXPECT_TRUE(compare(floats({nan}), floats({-nan}), {}).matches());
  for (const float other : {0.0F, 1e30F, static_cast<float>(kInfinity)}) {
    EXPECT_EQ(compare(floats({nan}), floats({other}), {1, 1}).mismatches, 1) << other;
    EXPECT_EQ(compare(floats({other}), floats({nan}), {1, 1}).mismatches, 1) << other;
  }
}

TEST(Comparison, InfinityMatchesItselfAlone) {
  const auto infinity = static_cast<float>(kInfinity);
  EXPECT_TRUE(compare(floats({infinity}), floats({infinity}), {}).matches());
  EXPECT_EQ(compare(floats({infinity}), floats({-infinity}), {1, 1}).mismatches, 1);
  EXPECT_EQ(compare(floats({3}), floats({infinity}), {1, 1}).mismatches, 1);
  EXPECT_EQ(compare(floats({infinity}), floats({3}), {1, 1}).mismatches, 1);
}

// Half of what was expected is no small matter where nothing was expected.
TEST(Comparison, WhereZeroIsExpectedTheRelativeDifferenceIsInfinite) {
  const Comparison found = compare(floats({1.5F, 1e-9F, 0}), floats({1, 0, 0}), {0, 1});
  EXPECT_EQ(found.largest_relative, kInfinity);
  EXPECT_EQ(found.where_relative, 1);
  EXPECT_EQ(found.largest_absolute, 0.5);
  EXPECT_EQ(found.where_absolute, 0);
  EXPECT_TRUE(found.matches());
  EXPECT_EQ(compare(floats({0}), floats({2}), {}).largest_relative, 1);
}

TEST(Comparison, WhatIsNotFiniteOnOneSideDiffersInfinitely) {
  const auto infinity = static_cast<float>(kInfinity);
  const float nan = std::nanf("");
  const std::vector<float> values = {0, 3, infinity, -infinity, nan};
  for (const float got : values) {
    for (const float expected : values) {
      SCOPED_TRACE(std::to_string(got) + " for " + std::to_string(expected));
      const bool same = got == expected || (std::isnan(got) && std::isnan(expected));
      const bool finite = std::isfinite(got) && std::isfinite(expected);
      const Comparison found = compare(floats({got}), floats({expected}), {1e30, 1e30});
      EXPECT_EQ(found.mismatches, same || finite ? 0 : 1);
      if (same) {
        EXPECT_EQ(found.largest_absolute, 0);
        EXPECT_EQ(found.largest_relative, 0);
      } else if (!finite) {
        EXPECT_EQ(found.largest_absolute, kInfinity);
        EXPECT_EQ(found.largest_relative, kInfinity);
      }
    }
  }
}

TEST(Comparison, ComplexNumbersAreMeasuredInThePlane) {
  const auto number = [](float real, float imaginary) {
    const Tensor tensor = Tensor::empty(DType::kComplex64, {1});
    tensor.data_as<float>()[0] = real;
    tensor.data_as<float>()[1] = imaginary;
    return tensor;
  };
  const Comparison found = compare(number(3, 4), number(0, 0), {});
  EXPECT_EQ(found.largest_absolute, 5);
  EXPECT_EQ(found.largest_relative, kInfinity);
  EXPECT_EQ(compare(number(6, 8), number(3, 4), {}).largest_relative, 1);
}

TEST(Comparison, SignsOfZeroAreEqual) {
  EXPECT_TRUE(compare(floats({0.0F}), floats({-0.0F}), {}).matches());
}

TEST(Comparison, TypesMustBeTheSame) {
  EXPECT_FALSE(compare(floats({1}), floats({1, 1}), {}).same_type);
  EXPECT_FALSE(compare(floats({1}), row<double>(DType::kFloat64, {1}), {}).same_type);
}

TEST(Comparison, LargeIntegersAreToldApart) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const Tensor left = row<std::int64_t>(DType::kInt64, {large});
  EXPECT_TRUE(compare(left, row<std::int64_t>(DType::kInt64, {large}), {}).matches());
  for (const std::int64_t other : {large - 3, large + 3}) {
    const Tensor right = row<std::int64_t>(DType::kInt64, {other});
    EXPECT_EQ(compare(left, right, {0, 2}).mismatches, 1);
    EXPECT_EQ(compare(left, right, {0, 2}).largest_absolute, 3);
    EXPECT_TRUE(compare(left, right, {0, 3}).matches());
  }
  const Tensor least = row<std::int64_t>(DType::kInt64, {INT64_MIN});
  const Tensor most = row<std::int64_t>(DType::kInt64, {INT64_MAX});
  EXPECT_EQ(compare(least, most, {}).largest_absolute, 0x1p64);
}

TEST(Comparison, ReadsSixteenBits) {
  const Tensor one = row<std::uint16_t>(DType::kFloat16, {0x3c00});
  const Tensor two = row<std::uint16_t>(DType::kFloat16, {0x4000});
  EXPECT_EQ(compare(one, two, {}).largest_absolute, 1);
  const Tensor brain = row<std::uint16_t>(DType::kBFloat16, {0x3f80});
  EXPECT_EQ(compare(brain, row<std::uint16_t>(DType::kBFloat16, {0x4000}), {}).largest_absolute, 1);
}

}  // namespace
}  // namespace unfuse::cli
