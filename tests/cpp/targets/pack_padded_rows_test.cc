#include "fusion_testing.h"

namespace unfuse::cpu {
namespace {

using testing::count_of;
using testing::fused_steps;
using testing::Steps;

void apply(Graph& graph) { pack_padded_rows(graph); }

std::string packed(std::string_view text) { return testing::after_without_dead_code<apply>(text); }

constexpr const char* kInputs = R"(
    input user %x: f32[3, 5, 8]
    input user %padding: b8[3, 5]
    input parameter %w: f32[8, 8]
    input parameter %b: f32[8]
)";

/// Attention over %x with a residual: %sum.
constexpr const char* kLayer = R"(
    %q = aten.linear.default(%x, %w, %b)
    %heads = aten.reshape.default(%q, [3, 5, 2, 4])
    %turned = aten.permute.default(%heads, [0, 2, 1, 3])
    %keys = aten.reshape.default(%padding, [3, 1, 1, 5])
    %visible = aten.logical_not.default(%keys)
    %attention = unfuse.attention(%turned, %turned, %turned, %visible)
    %back = aten.permute.default(%attention, [0, 2, 1, 3])
    %rows = aten.reshape.default(%back, [3, 5, 8])
    %sum = aten.add.Tensor(%x, %rows)
)";

std::string layer(std::string_view rest) {
  return std::string(kInputs) + kLayer + std::string(rest);
}

std::string pooled(std::string_view rest) {
  return layer("%padded = aten.reshape.default(%padding, [3, 5, 1])\n" + std::string(rest));
}

Steps expect_packed(const std::string& text) {
  Steps steps = fused_steps(text);
  EXPECT_EQ(count_of(steps, "unfuse.packed_attention"), 1);
  return steps;
}

void expect_alone(const std::string& text) {
  EXPECT_EQ(count_of(fused_steps(text), "unfuse.attention"), 1);
}

TEST(PackPaddedRows, FilledRows) {
  const std::string text = pooled(R"(
    %filled = aten.masked_fill.Scalar(%sum, %padded, 0)
    output user %filled
  )");
  EXPECT_EQ(packed(text), R"(%logical_not = aten.logical_not.default(%padding)
%packed_rows, %packed_rows_1, %packed_rows_2 = unfuse.packed_rows(%logical_not)
%x_packed = unfuse.pack_rows(%x, %packed_rows, %packed_rows_1)
%q = aten.linear.default(%x_packed, %w, %b)
%heads = aten.reshape.default(%q, [3, 5, 2, 4])
%turned = aten.permute.default(%heads, [0, 2, 1, 3])
%attention = unfuse.packed_attention(%turned, %turned, %turned, %packed_rows)
%back = aten.permute.default(%attention, [0, 2, 1, 3])
%rows = aten.reshape.default(%back, [3, 5, 8])
%sum = aten.add.Tensor(%x_packed, %rows)
%filled = unfuse.unpack_rows(%sum, %packed_rows_2)
output user %filled
)");
  expect_packed(text);
}

TEST(PackPaddedRows, OtherFillsStay) {
  expect_packed(pooled(R"(
    %filled = aten.masked_fill.Scalar(%sum, %padded, -7)
    %most = aten.amax.default(%filled, [1])
    output user %most
  )"));
}

TEST(PackPaddedRows, ProductsWithTheMask) {
  expect_packed(pooled(R"(
    %real = aten.logical_not.default(%padded)
    %weights = aten._to_copy.default(%real, dtype=float32)
    %product = aten.mul.Tensor(%sum, %weights)
    %pooled = aten.sum.dim_IntList(%product, [1])
    output user %pooled
  )"));
}

TEST(PackPaddedRows, WeightsOfTokensOfAnotherMask) {
  // Rows that are wanted without being keys are computed too.
  expect_packed(R"(input user %weights: f32[3, 5, 1])" + pooled(R"(
    %product = aten.mul.Tensor(%sum, %weights)
    %total = aten.sum.dim_IntList(%product, [1])
    output user %total
  )"));
}

TEST(PackPaddedRows, TheFirstToken) {
  expect_packed(layer(R"(
    %first = aten.select.int(%sum, 1, 0)
    output user %first
  )"));
}

TEST(PackPaddedRows, AConditionOnAllRows) {
  // Rows are left out only where no sequence has padding in front of a token.
  expect_packed(layer(R"(
    %earlier = aten.slice.Tensor(%padding, 1, 0, 4)
    %later = aten.slice.Tensor(%padding, 1, 1, 5)
    %ordered = aten.le.Tensor(%earlier, %later)
    %aligned = aten.all.dims(%ordered, [0, 1])
    %dropped = aten.logical_and.default(%padding, %aligned)
    %padded = aten.reshape.default(%dropped, [3, 5, 1])
    %filled = aten.masked_fill.Scalar(%sum, %padded, 0)
    output user %filled
  )"));
}

TEST(PackPaddedRows, WhatComesFromElsewhereIsPackedToo) {
  const Steps steps = expect_packed("input user %more: f32[3, 5, 8]" + pooled(R"(
    %both = aten.mul.Tensor(%sum, %more)
    %filled = aten.masked_fill.Scalar(%both, %padded, 0)
    output user %filled
  )"));
  EXPECT_EQ(count_of(steps, "unfuse.pack_rows"), 2);
}

TEST(PackPaddedRows, ASingleSequence) {
  expect_packed(R"(
    input user %x: f32[1, 9, 8]
    input user %padding: b8[1, 9]
    %heads = aten.reshape.default(%x, [9, 2, 4])
    %turned = aten.permute.default(%heads, [1, 0, 2])
    %one = aten.reshape.default(%turned, [1, 2, 9, 4])
    %keys = aten.reshape.default(%padding, [1, 1, 1, 9])
    %visible = aten.logical_not.default(%keys)
    %attention = unfuse.attention(%one, %one, %one, %visible)
    %back = aten.permute.default(%attention, [0, 2, 1, 3])
    %rows = aten.reshape.default(%back, [1, 9, 8])
    %padded = aten.reshape.default(%padding, [1, 9, 1])
    %filled = aten.masked_fill.Scalar(%rows, %padded, 0)
    output user %filled
  )");
}

TEST(PackPaddedRows, SymbolicSizes) {
  expect_packed(R"(
    symbol s0 in [1, 64]
    symbol s1 in [2, 64]
    input user %x: f32[s0, s1, 8]
    input user %padding: b8[s0, s1]
    input parameter %w: f32[8, 8]
    %q = aten.linear.default(%x, %w)
    %heads = aten.reshape.default(%q, [s0, s1, 2, 4])
    %turned = aten.permute.default(%heads, [0, 2, 1, 3])
    %keys = aten.reshape.default(%padding, [s0, 1, 1, s1])
    %all = aten.expand.default(%keys, [s0, 2, 1, s1])
    %visible = aten.logical_not.default(%all)
    %attention = unfuse.attention(%turned, %turned, %turned, %visible, is_causal=True)
    %back = aten.permute.default(%attention, [0, 2, 1, 3])
    %rows = aten.reshape.default(%back, [s0, s1, 8])
    %padded = aten.reshape.default(%padding, [s0, s1, 1])
    %filled = aten.masked_fill.Scalar(%rows, %padded, 0)
    output user %filled
  )");
}

TEST(PackPaddedRows, MasksThatAreAdded) {
  expect_packed(R"(
    input user %x: f32[3, 5, 8]
    input user %real: b8[3, 5]
    %heads = aten.reshape.default(%x, [3, 5, 2, 4])
    %turned = aten.permute.default(%heads, [0, 2, 1, 3])
    %numbers = aten._to_copy.default(%real, dtype=float32)
    %less = aten.sub.Scalar(%numbers, 1)
    %added = aten.mul.Scalar(%less, 3.4e38)
    %mask = aten.reshape.default(%added, [3, 1, 1, 5])
    %attention = unfuse.attention(%turned, %turned, %turned, %mask)
    %back = aten.permute.default(%attention, [0, 2, 1, 3])
    %rows = aten.reshape.default(%back, [3, 5, 8])
    %weights = aten.reshape.default(%numbers, [3, 5, 1])
    %product = aten.mul.Tensor(%rows, %weights)
    %total = aten.sum.dim_IntList(%product, [1])
    output user %total
  )");
}

TEST(PackPaddedRows, ReadersThatAreDead) {
  // As attention leaves them that was spelled out.
  expect_packed(pooled(R"(
    %mean = aten.mean.dim(%rows, [1])
    %filled = aten.masked_fill.Scalar(%sum, %padded, 0)
    output user %filled
  )"));
}

TEST(PackPaddedRows, RowsThatSomebodyReads) {
  expect_alone(layer("output user %sum\n"));
  // A sequence without any key gives NaN, and NaN times zero is NaN in every row.
  expect_alone(R"(input user %weights: f32[3, 5, 1])" + pooled(R"(
    %product = aten.mul.Tensor(%sum, %weights)
    output user %product
  )"));
  expect_alone(layer("%mean = aten.mean.dim(%sum, [1])\noutput user %mean\n"));
  expect_alone(layer("%last = aten.select.int(%sum, 1, 4)\noutput user %last\n"));
  expect_alone(pooled(R"(
    %filled = aten.masked_fill.Scalar(%sum, %padded, 0)
    output user %filled
    output user %rows
  )"));
}

TEST(PackPaddedRows, KeysThatOtherRowsSee) {
  // A mask that says more than which keys there are, and none at all.
  for (const char* attention : {"%attention = unfuse.attention(%x, %x, %x, %mask)",
                                "%attention = unfuse.attention(%x, %x, %x)"}) {
    expect_alone(std::string(R"(
      input user %x: f32[2, 3, 5, 8]
      input user %mask: b8[2, 1, 5, 5]
      input user %padding: b8[2, 5]
    )") + attention +
                 R"(
      %back = aten.permute.default(%attention, [0, 2, 1, 3])
      %rows = aten.reshape.default(%back, [2, 5, 24])
      %padded = aten.reshape.default(%padding, [2, 5, 1])
      %filled = aten.masked_fill.Scalar(%rows, %padded, 0)
      output user %filled
    )");
  }
}

TEST(PackPaddedRows, TwoStacksWithDifferentMasks) {
  const Steps steps = fused_steps(R"(
    input user %x: f32[2, 5, 8]
    input user %padding: b8[2, 5]
    input user %other: b8[2, 5]
    %heads = aten.reshape.default(%x, [2, 5, 2, 4])
    %turned = aten.permute.default(%heads, [0, 2, 1, 3])
    %keys = aten.reshape.default(%padding, [2, 1, 1, 5])
    %visible = aten.logical_not.default(%keys)
    %first = unfuse.attention(%turned, %turned, %turned, %visible)
    %other_keys = aten.reshape.default(%other, [2, 1, 1, 5])
    %second = unfuse.attention(%first, %first, %first, %other_keys)
    %back = aten.permute.default(%second, [0, 2, 1, 3])
    %rows = aten.reshape.default(%back, [2, 5, 8])
    %padded = aten.reshape.default(%padding, [2, 5, 1])
    %filled = aten.masked_fill.Scalar(%rows, %padded, 0)
    output user %filled
  )");
  // The second one's rows are wanted by its keys and by the fill; the first one's by the second.
  EXPECT_EQ(count_of(steps, "unfuse.packed_attention") + count_of(steps, "unfuse.attention"), 2);
}

}  // namespace
}  // namespace unfuse::cpu
