// Packed rows: packing and unpacking, and the kernels that compute but the rows that are there.
#include "targets/cpu/kernels/packed_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/attention_operands.h"
#include "kernels/strided.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/layer_norm.h"
#include "targets/cpu/kernels/pointwise.h"

namespace unfuse::cpu::testing {
namespace {

using Indices = std::vector<std::int64_t>;

TEST(PackedRows, WhereRowsGo) {
  Strided kept(placed(DType::kBool, {3, 4}, {.order = {1, 0}}));
  const Indices bits = {0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1};
  kept.fill([&](const Index& at) { return static_cast<double>(bits[at[0] * 4 + at[1]]); });
  Indices offsets(4, -7), sources(12, -7), places(12, -7);
  run_kernel_on(*select_packed_rows({kept.spec()}),
                {kept.data(), offsets.data(), sources.data(), places.data()});
  EXPECT_EQ(offsets, (Indices{0, 2, 2, 4}));
  EXPECT_EQ(Indices(sources.begin(), sources.begin() + 4), (Indices{1, 2, 8, 11}));
  EXPECT_EQ(places, (Indices{-1, 0, 1, -1, -1, -1, -1, -1, 2, -1, -1, 3}));
}

TEST(PackedRows, ThereAndBack) {
  for (const std::int64_t width : {0, 1, 5, 300}) {
    for (const int threads : {1, 3}) {
      std::mt19937 random(5);
      Strided input(placed(DType::kFloat32, {6, width}, {.gap = 3}));
      input.fill_random(random);
      Strided packed(placed(DType::kFloat32, {6, width}));
      Strided output(placed(DType::kFloat32, {6, width}));
      packed.fill([](const Index&) { return -1; });
      Indices offsets = {0, 1, 3}, sources = {0, 3, 5, 0, 0, 0}, places = {0, -1, -1, 1, -1, 2};
      run_kernel_on(*select_pack_rows({2, input.spec(), packed.spec(), threads}),
                    {offsets.data(), sources.data(), input.data(), packed.data()});
      expect_close(
          packed,
          [&](const Index& at) {
            return at[0] < 3 ? input.get({sources[at[0]], at[1]}) : -1;
          },
          0);
      run_kernel_on(*select_unpack_rows({packed.spec(), output.spec(), threads}),
                    {places.data(), packed.data(), output.data()});
      expect_close(
          output, [&](const Index& at) { return places[at[0]] < 0 ? 0.0 : input.get(at); }, 0);
    }
  }
}

// --- Counted rows

/// How many of 3 x 7 rows are there.
constexpr std::int64_t kCounts[] = {0, 1, 6, 13, 21};

TEST(CountedRows, LinearLayers) {
  constexpr std::int64_t kIn = 40, kOut = 70;
  std::mt19937 random(5);
  Strided weight(placed(DType::kFloat32, {kOut, kIn}));
  weight.fill_random(random);
  const PackedPtr packed = pack_linear_weight(weight.spec(), weight.data(), Packing::kFloat32, 1);
  for (std::int64_t count : kCounts) {
    for (const int threads : {1, 2, 5}) {
      Strided input(placed(DType::kFloat32, {3, 7, kIn}, {.gap = 4}));
      Strided residual(placed(DType::kFloat32, {3, 7, kOut}));
      Strided output(placed(DType::kFloat32, {3, 7, kOut}));
      input.fill_random(random);
      residual.fill_random(random);
      output.fill([](const Index&) { return 99; });
      PackedLinearSpec spec;
      spec.input = input.spec();
      spec.out_features = kOut;
      spec.residual = residual.spec();
      spec.output = output.spec();
      spec.counted_rows = 21;
      spec.threads = threads;
      run_kernel_on(*select_packed_linear(spec), {&count, input.data(), packed_operand(*packed),
                                                  residual.data(), output.data()});
      expect_close(
          output,
          [&](const Index& at) {
            if (at[0] * 7 + at[1] >= count) return 99.0;
            double sum = residual.get(at);
            for (std::int64_t k = 0; k < kIn; ++k) {
              sum += input.get({at[0], at[1], k}) * weight.get({at[2], k});
            }
            return sum;
          },
          1e-4);
    }
  }
}

TEST(CountedRows, Norms) {
  std::mt19937 random(5);
  for (std::int64_t count : kCounts) {
    // Two norms in each of the counted rows.
    Strided input(placed(DType::kFloat32, {3, 7, 2, 9}));
    Strided output(placed(DType::kFloat32, {3, 7, 2, 9}));
    input.fill_random(random);
    output.fill([](const Index&) { return 99; });
    NormSpec spec;
    spec.kind = NormKind::kRmsNorm;
    spec.input = input.spec();
    spec.eps = 0;
    spec.output = output.spec();
    spec.counted_rows = 21;
    spec.threads = 2;
    run_kernel_on(*select_norm(spec), {&count, input.data(), output.data()});
    expect_close(
        output,
        [&](const Index& at) {
          if (at[0] * 7 + at[1] >= count) return 99.0;
          double squares = 0;
          for (std::int64_t i = 0; i < 9; ++i) {
            const double x = input.get({at[0], at[1], at[2], i});
            squares += x * x;
          }
          return input.get(at) / std::sqrt(squares / 9);
        },
        1e-5);
  }
}

TEST(CountedRows, PointwisePrograms) {
  std::mt19937 random(5);
  // Rows in one tile, several in one, and one in several; dense, and broadcast along the row.
  for (const std::int64_t width : {1, 3, 200, 1500}) {
    for (const bool broadcasts : {false, true}) {
      for (std::int64_t count : kCounts) {
        const Sizes sizes = {3, 7, width};
        Placement other;
        if (broadcasts) other.broadcast = {2};
        Strided left(placed(DType::kFloat32, sizes)), right(placed(DType::kFloat32, sizes, other));
        Strided output(placed(DType::kFloat32, sizes));
        left.fill_random(random);
        right.fill_random(random);
        PointwiseSpec spec;
        spec.program.inputs = {RegisterType::kFloat32, RegisterType::kFloat32};
        PointwiseInstruction add;
        add.op = PointwiseOp::kAdd;
        add.arguments = {0, 1, -1};
        spec.program.instructions = {add};
        spec.program.outputs = {2};
        spec.sizes = sizes;
        spec.inputs = {left.spec(), right.spec()};
        spec.outputs = {output.spec()};
        spec.counted_rows = 21;
        spec.threads = 2;
        run_kernel_on(*select_pointwise(spec), {&count, left.data(), right.data(), output.data()});
        for_each_index(sizes, [&](const Index& at) {
          if (at[0] * 7 + at[1] >= count) return;
          ASSERT_EQ(output.get(at), static_cast<float>(left.get(at) + right.get(at)));
        });
      }
    }
  }
}

// --- Attention

/// One sequence of packed attention as attention of its own.
AttentionOperands sequence_of(const AttentionOperands& all, std::int64_t first,
                              std::int64_t length) {
  AttentionCase test = {};
  test.batch = {1};
  test.heads = all.spec.query.sizes[1];
  test.groups = all.spec.key.sizes[1];
  test.length = test.source_length = length;
  test.depth = all.spec.query.sizes[3];
  test.width = all.spec.value.sizes[3];
  test.is_causal = all.spec.is_causal;
  if (all.mask) test.mask_dtype = DType::kBool;
  AttentionOperands one = make_attention(test);
  const std::int64_t rows = all.spec.query.sizes[2];
  const auto in_all = [&](const Index& at, std::size_t dim) {
    Index index = at;
    const std::int64_t row = first + at[dim];
    index[0] = row / rows;
    index[dim] = row % rows;
    return index;
  };
  one.query.fill([&](const Index& at) { return all.query.get(in_all(at, 2)); });
  one.key.fill([&](const Index& at) { return all.key.get(in_all(at, 2)); });
  one.value.fill([&](const Index& at) { return all.value.get(in_all(at, 2)); });
  one.output.fill([&](const Index& at) { return all.output.get(in_all(at, 2)); });
  if (one.mask) {
    one.mask->fill([&](const Index& at) {
      Index index = in_all(at, 3);
      index[2] = 0;
      return all.mask->get(index);
    });
  }
  return one;
}

void check_packed_attention(AttentionCase test, const Indices& lengths, int threads) {
  test.batch = {static_cast<std::int64_t>(lengths.size())};
  test.source_length = test.length;
  // Rows outside of heads, as projections leave them.
  test.query = test.key = test.value = test.output = {.order = {0, 2, 1, 3}};
  if (test.mask_dtype) test.mask.broadcast = {1, 2};
  AttentionOperands made = make_attention(test, threads);
  made.spec.is_packed = true;
  Indices offsets = {0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  std::vector<void*> operands = {offsets.data(), made.query.data(), made.key.data(),
                                 made.value.data()};
  if (made.mask) operands.push_back(made.mask->data());
  operands.push_back(made.output.data());
  made.output.fill([](const Index&) { return 99; });
  run_kernel_on(*select_attention(made.spec), operands);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] == 0) continue;
    SCOPED_TRACE(b);
    const AttentionOperands one = sequence_of(made, offsets[b], lengths[b]);
    expect_attention(one, 1e-5);
  }
  for_each_index(made.spec.output.sizes, [&](const Index& at) {
    const bool is_behind = at[0] * test.length + at[2] >= offsets.back();
    if (is_behind) {
      ASSERT_EQ(made.output.get(at), 99);
    }
  });
}

AttentionCase attention_case(std::int64_t heads, std::int64_t groups, std::int64_t length,
                             std::int64_t depth) {
  AttentionCase test = {};
  test.heads = heads;
  test.groups = groups;
  test.length = length;
  test.depth = test.width = depth;
  return test;
}

TEST(PackedAttention, SequencesOfAllLengths) {
  for (const int threads : {1, 2, 5}) {
    check_packed_attention(attention_case(3, 3, 40, 16), {40, 0, 7, 1, 33}, threads);
    check_packed_attention(attention_case(4, 2, 12, 24), {12, 12}, threads);
    check_packed_attention(attention_case(1, 1, 9, 5), {4}, threads);
    check_packed_attention(attention_case(2, 2, 9, 8), {0, 0}, threads);
  }
}

TEST(PackedAttention, CausalAndMasked) {
  AttentionCase causal = attention_case(3, 3, 60, 16);
  causal.is_causal = true;
  check_packed_attention(causal, {60, 0, 31}, 2);
  AttentionCase masked = attention_case(4, 2, 60, 16);
  masked.mask_dtype = DType::kBool;
  check_packed_attention(masked, {17, 60, 1, 44}, 2);
  masked.is_causal = true;
  check_packed_attention(masked, {17, 60, 1, 44}, 2);
}

TEST(PackedAttention, KeysInParts) {
  check_packed_attention(attention_case(1, 1, 1300, 16), {700}, 4);
  check_packed_attention(attention_case(1, 1, 1300, 16), {3}, 4);
  check_packed_attention(attention_case(1, 1, 1300, 16), {0}, 4);
}

}  // namespace
}  // namespace unfuse::cpu::testing
