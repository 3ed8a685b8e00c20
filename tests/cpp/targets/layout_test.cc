#include "targets/cpu/layout.h"

#include <gtest/gtest.h>

#include "unfuse/tensor.h"

namespace unfuse::cpu {
namespace {

OperandSpec spec(Sizes sizes, Sizes strides) { return {DType::kFloat32, sizes, strides}; }

TEST(Layout, DenseInAnyOrder) {
  EXPECT_TRUE(is_dense(spec({2, 3}, {3, 1})));
  EXPECT_TRUE(is_dense(spec({2, 3}, {1, 2})));
  EXPECT_TRUE(is_dense(spec({2, 1, 3}, {1, 99, 2})));
  EXPECT_FALSE(is_dense(spec({2, 3}, {4, 1})));
  EXPECT_FALSE(is_dense(spec({2, 3}, {0, 1})));
  EXPECT_TRUE(is_dense(spec({}, {})));
  EXPECT_TRUE(is_dense(spec({0, 3}, {7, 7})));
}

TEST(Layout, SizeOneHasNoStride) {
  EXPECT_TRUE(same_layout(spec({2, 1, 3}, {3, 3, 1}), spec({2, 1, 3}, {3, 77, 1})));
  EXPECT_FALSE(same_layout(spec({2, 2, 3}, {6, 3, 1}), spec({2, 2, 3}, {3, 6, 1})));
}

TEST(Layout, ReshapesWithoutCopyWhereItCan) {
  EXPECT_EQ(reshaped_strides(spec({2, 3, 4}, {12, 4, 1}), {6, 4}), (Sizes{4, 1}));
  EXPECT_EQ(reshaped_strides(spec({2, 3, 4}, {12, 4, 1}), {2, 2, 6}), (Sizes{12, 6, 1}));
  // Heads: [B, L, H * D] as [B, L, H, D], from a strided row.
  EXPECT_EQ(reshaped_strides(spec({2, 5, 8}, {120, 24, 1}), {2, 5, 2, 4}), (Sizes{120, 24, 4, 1}));
  // Transposed memory cannot be flattened.
  EXPECT_EQ(reshaped_strides(spec({2, 3}, {1, 2}), {6}), std::nullopt);
  // But a transposed dimension may be split.
  EXPECT_EQ(reshaped_strides(spec({4, 3}, {1, 4}), {2, 2, 3}), (Sizes{2, 1, 4}));
  // Broadcast dimensions merge among themselves only.
  EXPECT_EQ(reshaped_strides(spec({2, 3, 4}, {0, 0, 1}), {6, 4}), (Sizes{0, 1}));
  EXPECT_EQ(reshaped_strides(spec({2, 3, 4}, {0, 4, 1}), {6, 4}), std::nullopt);
  EXPECT_TRUE(reshaped_strides(spec({1, 1}, {5, 9}), {}).has_value());
  EXPECT_TRUE(reshaped_strides(spec({0, 4}, {4, 1}), {2, 0}).has_value());
}

TEST(Layout, KeepsDenseStridesOnly) {
  EXPECT_EQ(dense_or_contiguous(DType::kFloat32, {2, 3}, Sizes{1, 2}).strides, (Sizes{1, 2}));
  EXPECT_EQ(dense_or_contiguous(DType::kFloat32, {2, 3}, Sizes{0, 1}).strides, (Sizes{3, 1}));
  EXPECT_EQ(dense_or_contiguous(DType::kFloat32, {2, 3}, std::nullopt).strides, (Sizes{3, 1}));
}

}  // namespace
}  // namespace unfuse::cpu
