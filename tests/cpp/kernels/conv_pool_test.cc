#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/strided.h"
#include "targets/cpu/kernels/conv.h"
#include "targets/cpu/kernels/pool.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct ConvCase {
  const char* name;
  std::int64_t batch, in_channels, out_channels;
  Sizes input, kernel;  ///< spatial
  Sizes stride, padding_begin, padding_end, dilation;
  std::int64_t groups = 1;
  bool has_bias = true;
  DType weight_dtype = DType::kFloat32;
  bool channels_last = false;
};

Placement channels_last(std::size_t rank) {
  Placement placement;
  placement.order = {0};
  for (std::size_t dim = 2; dim < rank; ++dim) placement.order.push_back(static_cast<int>(dim));
  placement.order.push_back(1);
  return placement;
}

class Conv : public ::testing::TestWithParam<ConvCase> {};

TEST_P(Conv, MatchesDefinition) {
  const ConvCase& test = GetParam();
  std::mt19937 random(53);
  Sizes input_sizes = {test.batch, test.in_channels};
  Sizes weight_sizes = {test.out_channels, test.in_channels / test.groups};
  Sizes output_sizes = {test.batch, test.out_channels};
  for (std::size_t dim = 0; dim < test.input.size(); ++dim) {
    input_sizes.push_back(test.input[dim]);
    weight_sizes.push_back(test.kernel[dim]);
    const std::int64_t padded = test.input[dim] + test.padding_begin[dim] + test.padding_end[dim];
    const std::int64_t window = test.dilation[dim] * (test.kernel[dim] - 1) + 1;
    output_sizes.push_back((padded - window) / test.stride[dim] + 1);
  }
  const Placement placement = test.channels_last ? channels_last(input_sizes.size()) : Placement{};
  Strided input(placed(DType::kFloat32, input_sizes, placement));
  Strided weight(placed(test.weight_dtype, weight_sizes));
  Strided bias(placed(DType::kFloat32, {test.out_channels}));
  Strided output(placed(DType::kFloat32, output_sizes, placement));
  input.fill_random(random);
  weight.fill_random(random);
  bias.fill_random(random);
  const PackedPtr packed = pack_conv_weight(weight.spec(), weight.data(), test.groups, 2);
  ConvSpec spec;
  spec.input = input.spec();
  spec.weight_sizes = weight_sizes;
  spec.has_bias = test.has_bias;
  spec.stride = test.stride;
  spec.padding_begin = test.padding_begin;
  spec.padding_end = test.padding_end;
  spec.dilation = test.dilation;
  spec.groups = test.groups;
  spec.output = output.spec();
  spec.threads = 2;
  std::vector<void*> operands = {input.data(), packed_operand(*packed)};
  if (test.has_bias) operands.push_back(bias.data());
  operands.push_back(output.data());
  run_kernel_on(*select_conv(spec), operands);
  output.expect_gaps_untouched();
  const std::int64_t group_out = test.out_channels / test.groups;
  const std::int64_t group_in = test.in_channels / test.groups;
  const Sizes taps(weight_sizes.begin() + 1, weight_sizes.end());
  expect_close(
      output,
      [&](const Index& at) {
        double sum = test.has_bias ? bias.get({at[1]}) : 0;
        for_each_index(taps, [&](const Index& tap) {
          Index from = {at[0], at[1] / group_out * group_in + tap[0]};
          Index to = {at[1]};
          to.insert(to.end(), tap.begin(), tap.end());
          for (std::size_t dim = 0; dim < test.input.size(); ++dim) {
            const std::int64_t position = at[dim + 2] * test.stride[dim] - test.padding_begin[dim] +
                                          tap[dim + 1] * test.dilation[dim];
            if (position < 0 || position >= test.input[dim]) return;
            from.push_back(position);
          }
          sum += input.get(from) * weight.get(to);
        });
        return sum;
      },
      1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Conv,
    ::testing::Values(
        ConvCase{"plain", 2, 3, 5, {9, 11}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
        ConvCase{"patches", 2, 3, 40, {32, 32}, {8, 8}, {8, 8}, {0, 0}, {0, 0}, {1, 1}},
        ConvCase{"padded", 2, 3, 5, {9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
        ConvCase{"uneven_padding", 2, 3, 5, {9, 11}, {2, 4}, {1, 1}, {0, 1}, {1, 2}, {1, 1}},
        ConvCase{"dilated", 1, 3, 5, {12, 12}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
        ConvCase{"grouped", 1, 6, 4, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
        ConvCase{"depthwise", 1, 32, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 32},
        ConvCase{"pointwise", 2, 64, 48, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
        ConvCase{"no_bias", 2, 3, 5, {9, 11}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, false},
        ConvCase{"float16",
                 2,
                 3,
                 5,
                 {9, 11},
                 {3, 3},
                 {1, 1},
                 {0, 0},
                 {0, 0},
                 {1, 1},
                 1,
                 true,
                 DType::kFloat16},
        ConvCase{"channels_last",
                 2,
                 16,
                 32,
                 {9, 11},
                 {3, 3},
                 {1, 1},
                 {1, 1},
                 {1, 1},
                 {1, 1},
                 1,
                 true,
                 DType::kFloat32,
                 true},
        ConvCase{"one_dim", 2, 4, 6, {20}, {3}, {2}, {1}, {1}, {1}},
        ConvCase{"one_dim_grouped", 2, 4, 6, {20}, {5}, {1}, {4}, {0}, {1}, 2},
        ConvCase{"no_batch", 0, 3, 5, {9, 11}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}),
    [](const auto& test) { return std::string(test.param.name); });

struct PoolCase {
  const char* name;
  PoolKind kind;
  Sizes leading, input, output;
  Sizes kernel = {}, stride = {}, padding = {}, dilation = {};
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};
  Placement input_placement = {}, output_placement = {};
};

class Pool : public ::testing::TestWithParam<PoolCase> {};

TEST_P(Pool, MatchesDefinition) {
  const PoolCase& test = GetParam();
  std::mt19937 random(59);
  const auto with = [&](const Sizes& spatial) {
    Sizes sizes = test.leading;
    sizes.insert(sizes.end(), spatial.begin(), spatial.end());
    return sizes;
  };
  const bool is_max = test.kind == PoolKind::kMax || test.kind == PoolKind::kAdaptiveMax;
  const bool is_adaptive =
      test.kind == PoolKind::kAdaptiveAverage || test.kind == PoolKind::kAdaptiveMax;
  Strided input(placed(DType::kFloat32, with(test.input), test.input_placement));
  Strided output(placed(DType::kFloat32, with(test.output), test.output_placement));
  Strided indices(placed(DType::kInt64, with(test.output)));
  input.fill_random(random);
  PoolSpec spec;
  spec.kind = test.kind;
  spec.input = input.spec();
  spec.kernel = test.kernel;
  spec.stride = test.stride;
  spec.padding = test.padding;
  spec.dilation = test.dilation;
  spec.spatial_rank = static_cast<std::int64_t>(test.input.size());
  spec.count_include_pad = test.count_include_pad;
  spec.divisor_override = test.divisor_override;
  spec.output = output.spec();
  spec.threads = 2;
  std::vector<Strided*> operands = {&input, &output};
  if (is_max) {
    spec.indices = indices.spec();
    operands.push_back(&indices);
  }
  run_kernel(*select_pool(spec), operands);

  // Per element: the extreme with its position, the sum, the elements and the padded elements.
  struct Result {
    double largest = -kInf, sum = 0, count = 0, padded = 1, position = 0;
  };
  const std::size_t lead = test.leading.size();
  const auto pool = [&](const Index& at) {
    Result result;
    Sizes window;
    Index begin;
    Sizes step;
    for (std::size_t dim = 0; dim < test.input.size(); ++dim) {
      const std::int64_t o = at[lead + dim];
      if (is_adaptive) {
        begin.push_back(o * test.input[dim] / test.output[dim]);
        const auto exact_end =
            static_cast<double>((o + 1) * test.input[dim]) / static_cast<double>(test.output[dim]);
        window.push_back(static_cast<std::int64_t>(std::ceil(exact_end)) - begin.back());
        step.push_back(1);
      } else {
        begin.push_back(o * test.stride[dim] - test.padding[dim]);
        window.push_back(test.kernel[dim]);
        step.push_back(test.dilation.empty() ? 1 : test.dilation[dim]);
        result.padded *= static_cast<double>(
            std::min(begin.back() + test.kernel[dim], test.input[dim] + test.padding[dim]) -
            begin.back());
      }
    }
    for_each_index(window, [&](const Index& tap) {
      Index element(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead));
      std::int64_t position = 0;
      for (std::size_t dim = 0; dim < tap.size(); ++dim) {
        const std::int64_t i = begin[dim] + tap[dim] * step[dim];
        if (i < 0 || i >= test.input[dim]) return;
        element.push_back(i);
        position = position * test.input[dim] + i;
      }
      const double value = input.get(element);
      if (value > result.largest) {
        result.largest = value;
        result.position = static_cast<double>(position);
      }
      result.sum += value;
      ++result.count;
    });
    return result;
  };
  expect_close(
      output,
      [&](const Index& at) {
        const Result result = pool(at);
        if (is_max) return result.largest;
        double divisor = is_adaptive || !test.count_include_pad ? result.count : result.padded;
        if (test.divisor_override) divisor = static_cast<double>(*test.divisor_override);
        return result.sum / divisor;
      },
      1e-6);
  if (is_max)
    expect_close(
        indices, [&](const Index& at) { return pool(at).position; }, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Pool,
    ::testing::Values(
        PoolCase{"max", PoolKind::kMax, {2, 3}, {8, 9}, {4, 4}, {2, 2}, {2, 2}, {0, 0}},
        PoolCase{"max_padded", PoolKind::kMax, {2, 3}, {8, 9}, {4, 5}, {3, 3}, {2, 2}, {1, 1}},
        PoolCase{"max_ceil", PoolKind::kMax, {2, 3}, {8, 9}, {4, 5}, {2, 2}, {2, 2}, {0, 0}},
        PoolCase{
            "max_dilated", PoolKind::kMax, {2, 3}, {8, 9}, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {2, 2}},
        PoolCase{"max_one_dim", PoolKind::kMax, {2, 3}, {9}, {4}, {2}, {2}, {0}},
        PoolCase{"max_three_dims",
                 PoolKind::kMax,
                 {2},
                 {4, 5, 6},
                 {2, 2, 3},
                 {2, 2, 2},
                 {2, 2, 2},
                 {0, 0, 0}},
        PoolCase{"average", PoolKind::kAverage, {2, 3}, {8, 9}, {4, 4}, {2, 2}, {2, 2}, {0, 0}},
        PoolCase{
            "average_padded", PoolKind::kAverage, {2, 3}, {8, 9}, {4, 5}, {3, 3}, {2, 2}, {1, 1}},
        PoolCase{"average_without_padding",
                 PoolKind::kAverage,
                 {2, 3},
                 {8, 9},
                 {4, 5},
                 {3, 3},
                 {2, 2},
                 {1, 1},
                 {},
                 false},
        PoolCase{
            "average_ceil", PoolKind::kAverage, {2, 3}, {8, 10}, {5, 6}, {3, 3}, {2, 2}, {1, 1}},
        PoolCase{"average_divisor",
                 PoolKind::kAverage,
                 {2, 3},
                 {8, 9},
                 {4, 4},
                 {2, 2},
                 {2, 2},
                 {0, 0},
                 {},
                 true,
                 3},
        PoolCase{"adaptive", PoolKind::kAdaptiveAverage, {2, 3}, {8, 9}, {3, 4}},
        PoolCase{"adaptive_to_one", PoolKind::kAdaptiveAverage, {2, 3}, {7, 7}, {1, 1}},
        PoolCase{"adaptive_larger", PoolKind::kAdaptiveAverage, {2, 3}, {3, 3}, {5, 7}},
        PoolCase{"adaptive_max", PoolKind::kAdaptiveMax, {2, 3}, {8, 9}, {3, 4}},
        PoolCase{"strided",
                 PoolKind::kAverage,
                 {2, 3},
                 {8, 9},
                 {4, 4},
                 {2, 2},
                 {2, 2},
                 {0, 0},
                 {},
                 true,
                 {},
                 {{0, 2, 3, 1}},
                 {{3, 1, 2, 0}, 1}},
        PoolCase{"no_planes", PoolKind::kMax, {0, 3}, {8, 9}, {4, 4}, {2, 2}, {2, 2}, {0, 0}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PoolSpecialValues, NanWins) {
  Strided input(OperandSpec::contiguous(DType::kFloat32, {1, 4}));
  Strided output(OperandSpec::contiguous(DType::kFloat32, {1, 2}));
  input.fill([](const Index& at) { return at[1] == 1 ? kNaN : -kInf; });
  PoolSpec spec;
  spec.input = input.spec();
  spec.kernel = spec.stride = {2};
  spec.padding = {0};
  spec.output = output.spec();
  run_kernel(*select_pool(spec), {&input, &output});
  EXPECT_TRUE(std::isnan(output.get({0, 0})));
  EXPECT_EQ(output.get({0, 1}), -kInf);
}

}  // namespace
}  // namespace unfuse::cpu::testing
