#include "cli/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

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
  EXPECT_EQ(found.where, 2);
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
  EXPECT_EQ(compare(left, row<std::int64_t>(DType::kInt64, {large - 1}), {}).mismatches, 1);
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
