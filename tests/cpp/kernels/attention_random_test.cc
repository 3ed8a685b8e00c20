// Attention on random shapes, strides, masks and special values, against its definition.
#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/attention_operands.h"
#include "targets/cpu/kernels/attention_tile.h"
#include "targets/cpu/kernels/convert.h"

namespace unfuse::cpu::testing {
namespace {

class Choice {
 public:
  explicit Choice(unsigned seed) : random_(seed) {}
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }

 private:
  std::mt19937 random_;
};

/// Dims in order, or rows outside of heads, as projections leave them; perhaps with gaps.
Placement random_placement(Choice& choice, int rank) {
  Placement placement;
  for (int dim = 0; dim < rank; ++dim) placement.order.push_back(dim);
  const auto at = static_cast<std::size_t>(rank);
  if (choice.one_in(2)) std::swap(placement.order[at - 3], placement.order[at - 2]);
  placement.gap = choice.of<std::int64_t>({0, 0, 3});
  return placement;
}

AttentionCase random_case(Choice& choice) {
  AttentionCase test = {};
  test.name = "random";
  test.batch = choice.of<Sizes>({{}, {1}, {2}, {2, 2}});
  test.groups = 1 + choice.below(2);
  test.heads = test.groups * choice.of<std::int64_t>({1, 1, 2, 5});
  test.length = choice.of<std::int64_t>({1, 2, 3, 5, 7, 16, 31, 48, 49, 100, 130});
  test.source_length = choice.of<std::int64_t>({1, 4, 15, 17, 64, 100, 257, 300, 520, 1100});
  test.depth = choice.of<std::int64_t>({1, 5, 8, 16, 24, 32, 40, 64, 80});
  test.width = choice.one_in(4) ? choice.of<std::int64_t>({1, 7, 16, 48, 72}) : test.depth;
  const int rank = static_cast<int>(test.batch.size()) + 3;
  test.query = random_placement(choice, rank);
  test.key = random_placement(choice, rank);
  test.value = random_placement(choice, rank);
  test.output = random_placement(choice, rank);
  test.is_causal = choice.one_in(4);
  if (choice.one_in(3)) return test;
  test.mask_dtype = choice.of({DType::kBool, DType::kFloat32});
  for (int dim = 0; dim < rank; ++dim) {
    if (choice.one_in(2)) test.mask.broadcast.push_back(dim);
  }
  if (choice.one_in(6)) test.mask.inner_step = 2;
  return test;
}

/// Which keys a mask hides, and what it adds where it does.
void fill_mask(Choice& choice, AttentionOperands& made) {
  enum Pattern { kNothing, kAnything, kAfter, kBefore, kFarAway, kFirstBatch };
  const auto pattern = static_cast<Pattern>(choice.below(6));
  const bool is_bool = made.spec.mask->dtype == DType::kBool;
  const double low = choice.of({-kInf, -kInf, -3.4028234663852886e38, -1e30});
  const double high = choice.of({0.0, 0.0, 1.0});
  const std::size_t rank = made.spec.mask->sizes.size();
  const std::int64_t keys = made.spec.mask->sizes[rank - 1];
  const std::int64_t edge = choice.below(keys + 1);
  made.mask->fill([&](const Index& at) {
    const std::int64_t row = at[rank - 2];
    const std::int64_t key = at[rank - 1];
    const bool is_hidden =
        (pattern == kAnything && choice.one_in(5)) || (pattern == kAfter && key >= edge) ||
        (pattern == kBefore && key < edge) || (pattern == kFarAway && std::abs(key - row) > 20) ||
        (pattern == kFirstBatch && at[0] == 0);
    if (is_bool) return is_hidden ? 0.0 : 1.0;
    return is_hidden ? low : high * static_cast<double>(choice.below(5));
  });
}

/// Something odd somewhere. What causality hides is never looked at, so values stay finite there.
void spoil(Choice& choice, AttentionOperands& made) {
  const double odd = choice.of({kNaN, kInf, -kInf});
  Strided* const operands[] = {&made.query, &made.key, &made.value};
  Strided& operand = *operands[choice.below(made.spec.is_causal ? 1 : 3)];
  Index at;
  for (const std::int64_t size : operand.spec().sizes) at.push_back(choice.below(size));
  operand.set(at, odd);
}

/// To numbers that bfloat16 has.
void round_to_bfloat16(Strided& operand) {
  operand.fill([&](const Index& at) {
    const auto value = static_cast<float>(operand.get(at));
    return static_cast<double>(bfloat16_to_float32(float32_to_bfloat16(value)));
  });
}

class RandomAttention : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomAttention, MatchesDefinition) {
  constexpr unsigned kCases = 4;
  for (unsigned i = 0; i < kCases; ++i) {
    const unsigned seed = GetParam() * kCases + i;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Choice choice(seed);
    const AttentionCase test = random_case(choice);
    AttentionOperands made = make_attention(test, static_cast<int>(1 + choice.below(5)), seed);
    if (made.mask) fill_mask(choice, made);
    if (choice.one_in(4)) spoil(choice, made);
    made.spec.zero_fully_masked = choice.one_in(2);
    if (choice.one_in(5)) made.spec.scale = choice.of({0.0f, -0.05f});
    run_attention(made);
    expect_attention(made, 2e-6);
  }
}

/// Queries and keys are exact. Weights are rounded, by half of 2^-8 at most, and their sum is not.
void check_products_of_bfloat16(Products products, unsigned seed) {
  if (attention_pair_functions(products) == nullptr) return;  // products are float32, as above
  Choice choice(seed);
  const AttentionCase test = random_case(choice);
  AttentionOperands made = make_attention(test, static_cast<int>(1 + choice.below(5)), seed);
  for (Strided* operand : {&made.query, &made.key, &made.value}) round_to_bfloat16(*operand);
  if (made.mask) fill_mask(choice, made);
  if (choice.one_in(4)) spoil(choice, made);
  made.spec.products = products;
  made.spec.zero_fully_masked = choice.one_in(2);
  if (choice.one_in(5)) made.spec.scale = choice.of({0.0f, -0.05f});
  run_attention(made);
  expect_attention(made, 4e-3);
}

TEST_P(RandomAttention, ProductsOfBFloat16) {
  check_products_of_bfloat16(Products::kBFloat16, GetParam());
}

TEST_P(RandomAttention, ProductsOfBFloat16OnTiles) {
  check_products_of_bfloat16(Products::kBFloat16Tiles, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAttention, ::testing::Range(0u, 30u));

}  // namespace
}  // namespace unfuse::cpu::testing
