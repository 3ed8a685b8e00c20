#include "targets/cpu/kernels/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/strided.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct SortCase {
  const char* name;
  Sizes sizes;
  std::int64_t dim;
  std::int64_t count;  ///< how many of a line are wanted
  Placement input = {}, values = {}, indices = {};
};

bool before(double a, double b, bool descending) {
  if (descending) std::swap(a, b);
  return std::isnan(a) ? false : std::isnan(b) || a < b;
}

/// Where the elements of a line stand in order, equal ones as they came.
std::vector<std::int64_t> order_of(const Strided& input, Index at, std::size_t dim,
                                   bool descending) {
  if (at.empty()) return {0};
  std::vector<double> line;
  for (at[dim] = 0; at[dim] < input.spec().sizes[dim]; ++at[dim]) line.push_back(input.get(at));
  std::vector<std::int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return before(line[static_cast<std::size_t>(a)], line[static_cast<std::size_t>(b)], descending);
  });
  return order;
}

class Sort : public ::testing::TestWithParam<SortCase> {};

TEST_P(Sort, MatchesDefinition) {
  const SortCase& test = GetParam();
  const auto dim = static_cast<std::size_t>(test.dim);
  Sizes taken = test.sizes;
  if (!taken.empty()) taken[dim] = test.count;
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt64, DType::kBool}) {
    for (const bool descending : {false, true}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + (descending ? " descending" : ""));
      std::mt19937 random(43);
      Strided input(placed(dtype, test.sizes, test.input));
      Strided values(placed(dtype, taken, test.values));
      Strided indices(placed(DType::kInt64, taken, test.indices));
      // Few enough whole numbers that many are equal.
      std::uniform_int_distribution<int> number(-3, 3);
      input.fill([&](const Index&) {
        const int drawn = number(random);
        if (dtype == DType::kBool) return drawn > 0 ? 1.0 : 0.0;
        if (!is_floating_point(dtype)) return static_cast<double>(drawn);
        return drawn == 3 ? kNaN : drawn == -3 ? -kInf : drawn == 0 ? -0.0 : drawn / 2.0;
      });
      run_kernel(
          *select_sort({input.spec(), test.dim, descending, values.spec(), indices.spec(), 2}),
          {&input, &values, &indices});
      const auto place = [&](const Index& at) {
        const std::int64_t nth = at.empty() ? 0 : at[dim];
        return order_of(input, at, dim, descending)[static_cast<std::size_t>(nth)];
      };
      expect_close(
          indices, [&](const Index& at) { return static_cast<double>(place(at)); }, 0);
      const auto element = [&](const Index& at) {
        Index from = at;
        if (!from.empty()) from[dim] = place(at);
        return input.get(from);
      };
      expect_close(values, element, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Sort,
    ::testing::Values(SortCase{"vector", {600}, 0, 600}, SortCase{"few", {600}, 0, 5},
                      SortCase{"most", {600}, 0, 300}, SortCase{"none", {600}, 0, 0},
                      SortCase{"last", {5, 33}, 1, 33}, SortCase{"first", {33, 5}, 0, 7},
                      SortCase{"scalar", {}, 0, 1}, SortCase{"empty", {3, 0}, 1, 0},
                      SortCase{"empty_lines", {0, 3}, 1, 3},
                      SortCase{
                          "strided", {4, 33, 5}, 1, 9, {{2, 0, 1}, 1}, {{}, 0, 2}, {{1, 2, 0}, 3}},
                      SortCase{"expanded", {4, 33}, 1, 33, {{}, 0, 1, {0}}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SortRefuses, WhatDoesNotFit) {
  const OperandSpec line = placed(DType::kFloat32, {4});
  const OperandSpec places = placed(DType::kInt64, {4});
  EXPECT_THROW(select_sort({line, 1, false, line, places, 1}), Error);
  EXPECT_THROW(select_sort({line, 0, false, placed(DType::kFloat32, {5}), places, 1}), Error);
  EXPECT_THROW(select_sort({line, 0, false, line, placed(DType::kInt32, {4}), 1}), Error);
}

}  // namespace
}  // namespace unfuse::cpu::testing
