#include "targets/cpu/kernels/resample.h"

#include <vector>

#include "kernels/strided.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

struct ResampleCase {
  const char* name;
  Sizes sizes;    ///< of the input
  Sizes spatial;  ///< of the result
  Placement input = {}, output = {};
};

/// A few neighbours each, as many as the element's number says, weights at random.
Taps random_taps(std::int64_t from, std::int64_t to, std::mt19937& random) {
  std::uniform_real_distribution<float> weight(-1, 1);
  Taps taps = {{0}, {}, {}};
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t first = i * (from - 1) / std::max<std::int64_t>(to - 1, 1);
    for (std::int64_t t = 0; t <= i % 3; ++t) {
      taps.index.push_back(std::min(first + t, from - 1));
      taps.weight.push_back(weight(random));
    }
    taps.first.push_back(static_cast<std::int64_t>(taps.index.size()));
  }
  return taps;
}

/// The sum along dim `at` of the spatial dims and those after it.
double exact(const Strided& input, const std::vector<Taps>& taps, Index& index, std::size_t at) {
  if (at == taps.size()) return input.get(index);
  const std::size_t dim = index.size() - taps.size() + at;
  const auto wanted = static_cast<std::size_t>(index[dim]);
  double sum = 0;
  for (std::int64_t t = taps[at].first[wanted]; t < taps[at].first[wanted + 1]; ++t) {
    index[dim] = taps[at].index[static_cast<std::size_t>(t)];
    sum += taps[at].weight[static_cast<std::size_t>(t)] * exact(input, taps, index, at + 1);
  }
  index[dim] = static_cast<std::int64_t>(wanted);
  return sum;
}

class Resample : public ::testing::TestWithParam<ResampleCase> {};

TEST_P(Resample, MatchesDefinition) {
  const ResampleCase& test = GetParam();
  std::mt19937 random(47);
  Sizes sizes = test.sizes;
  std::vector<Taps> taps;
  for (std::size_t i = 0; i < test.spatial.size(); ++i) {
    std::int64_t& size = sizes[sizes.size() - test.spatial.size() + i];
    taps.push_back(random_taps(size, test.spatial[i], random));
    size = test.spatial[i];
  }
  for (const int threads : {1, 2}) {
    Strided input(placed(DType::kFloat32, test.sizes, test.input));
    Strided output(placed(DType::kFloat32, sizes, test.output));
    input.fill_random(random);
    run_kernel(*select_resample({input.spec(), taps, output.spec(), threads}), {&input, &output});
    expect_close(
        output,
        [&](const Index& at) {
          Index index = at;
          return exact(input, taps, index, 0);
        },
        1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Resample,
    ::testing::Values(ResampleCase{"image", {2, 3, 5, 7}, {9, 12}},
                      ResampleCase{"smaller", {1, 2, 31, 17}, {4, 5}},
                      ResampleCase{"wide", {1, 2, 3, 300}, {200, 130}},
                      ResampleCase{"signal", {2, 3, 40}, {17}},
                      ResampleCase{"one_pixel", {2, 1, 1, 1}, {3, 3}},
                      ResampleCase{"no_images", {0, 3, 4, 4}, {2, 2}},
                      ResampleCase{
                          "channels_last", {2, 3, 5, 7}, {4, 9}, {{0, 2, 3, 1}}, {{0, 2, 3, 1}, 1}},
                      ResampleCase{"gaps", {2, 3, 5, 7}, {4, 9}, {{}, 2, 2}, {{1, 0, 2, 3}, 1, 2}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ResampleRefuses, WhatDoesNotFit) {
  const OperandSpec image = placed(DType::kFloat32, {2, 4});
  const Taps same = {{0, 1, 2, 3, 4}, {0, 1, 2, 3}, {1, 1, 1, 1}};
  EXPECT_NO_THROW(select_resample({image, {same}, image, 1}));
  EXPECT_THROW(select_resample({image, {same, same}, image, 1}), Error);
  EXPECT_THROW(select_resample({image, {}, image, 1}), Error);
  const OperandSpec halves = placed(DType::kBFloat16, {2, 4});
  EXPECT_THROW(select_resample({halves, {same}, halves, 1}), Error);
}

}  // namespace
}  // namespace unfuse::cpu::testing
