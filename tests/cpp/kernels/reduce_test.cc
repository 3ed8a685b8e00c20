#include "targets/cpu/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/strided.h"
#include "targets/cpu/kernels/scan.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The definition; elements in row-major order of the reduced dims. Second: the position.
std::pair<double, double> exact(ReduceOp op, const std::vector<double>& x, double correction) {
  const auto count = static_cast<double>(x.size());
  double sum = 0, product = 1, squares = 0, absolute = 0, any = 0, all = 1;
  for (const double value : x) {
    sum += value, product *= value, squares += value * value, absolute += std::abs(value);
    if (value != 0) any = 1;
    if (value == 0) all = 0;
  }
  double centered = 0;
  for (const double value : x) centered += (value - sum / count) * (value - sum / count);
  std::size_t largest = 0, smallest = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (!std::isnan(x[largest]) && (std::isnan(x[i]) || x[i] > x[largest])) largest = i;
    if (!std::isnan(x[smallest]) && (std::isnan(x[i]) || x[i] < x[smallest])) smallest = i;
  }
  const double variance = centered / std::max(0.0, count - correction);
  switch (op) {
    case ReduceOp::kSum:
      return {sum, 0};
    case ReduceOp::kMean:
      return {sum / count, 0};
    case ReduceOp::kProd:
      return {product, 0};
    case ReduceOp::kAmax:
    case ReduceOp::kMaxWithIndex:
      return {x[largest], largest};
    case ReduceOp::kAmin:
    case ReduceOp::kMinWithIndex:
      return {x[smallest], smallest};
    case ReduceOp::kAny:
      return {any, 0};
    case ReduceOp::kAll:
      return {all, 0};
    case ReduceOp::kArgmax:
      return {static_cast<double>(largest), 0};
    case ReduceOp::kArgmin:
      return {static_cast<double>(smallest), 0};
    case ReduceOp::kVar:
      return {variance, 0};
    case ReduceOp::kStd:
      return {std::sqrt(variance), 0};
    case ReduceOp::kSumSquares:
      return {squares, 0};
    case ReduceOp::kSumAbsolute:
      return {absolute, 0};
  }
  return {};
}

DType result_dtype(ReduceOp op, DType input) {
  if (op == ReduceOp::kAny || op == ReduceOp::kAll) return DType::kBool;
  if (op == ReduceOp::kArgmax || op == ReduceOp::kArgmin) return DType::kInt64;
  const bool accumulates = op == ReduceOp::kSum || op == ReduceOp::kProd;
  return accumulates && !is_floating_point(input) ? DType::kInt64 : input;
}

struct Layout {
  const char* name;
  Sizes sizes;
  std::vector<std::int64_t> dims;
  Placement input = {}, output = {};
};

void check(ReduceOp op, DType dtype, const Layout& layout, double low = -2, double high = 2) {
  std::mt19937 random(31);
  Strided input(placed(dtype, layout.sizes, layout.input));
  Sizes reduced;
  Sizes output_sizes = layout.sizes;
  for (const std::int64_t dim : layout.dims) {
    reduced.push_back(layout.sizes[static_cast<std::size_t>(dim)]);
    output_sizes[static_cast<std::size_t>(dim)] = 1;
  }
  Strided output(placed(result_dtype(op, dtype), output_sizes, layout.output));
  Strided indices(placed(DType::kInt64, output_sizes, layout.output));
  input.fill_random(random, low, high);
  ReduceSpec spec;
  spec.op = op;
  spec.input = input.spec();
  spec.dims = layout.dims;
  spec.output = output.spec();
  spec.threads = 2;
  std::vector<Strided*> operands = {&input, &output};
  const bool has_indices = op == ReduceOp::kMaxWithIndex || op == ReduceOp::kMinWithIndex;
  if (has_indices) {
    spec.indices = indices.spec();
    operands.push_back(&indices);
  }
  run_kernel(*select_reduce(spec), operands);
  const auto expected = [&](const Index& at) {
    std::vector<double> elements;
    for_each_index(reduced, [&](const Index& inner) {
      Index element = at;
      for (std::size_t i = 0; i < inner.size(); ++i) {
        element[static_cast<std::size_t>(layout.dims[i])] = inner[i];
      }
      elements.push_back(input.get(element));
    });
    return exact(op, elements, spec.correction);
  };
  const double tolerance = dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? 1e-2 : 1e-6;
  expect_close(
      output, [&](const Index& at) { return expected(at).first; }, 1e-9, tolerance);
  if (!has_indices) return;
  expect_close(
      indices, [&](const Index& at) { return expected(at).second; }, 0);
}

const std::vector<Layout> kLayouts = {
    {"all", {3, 5, 7}, {0, 1, 2}},
    {"last", {3, 5, 300}, {2}},
    {"first", {40, 5, 7}, {0}},
    {"middle", {3, 50, 70}, {1}},
    {"outer_two", {3, 5, 70}, {0, 1}},
    {"outer_and_inner", {3, 5, 7}, {0, 2}},
    {"none", {3, 5}, {}},
    {"scalar", {}, {}},
    {"transposed", {3, 50, 70}, {1}, {{2, 1, 0}}},
    {"transposed_last", {3, 50, 70}, {2}, {{2, 1, 0}}, {{1, 0, 2}}},
    {"gaps", {3, 5, 30}, {2}, {{}, 3, 2}, {{}, 0, 2}},
    {"broadcast", {3, 5, 30}, {1, 2}, {{}, 0, 1, {1}}},
};

class Reduce : public ::testing::TestWithParam<Layout> {};

TEST_P(Reduce, EveryOp) {
  for (int op = 0; op <= static_cast<int>(ReduceOp::kSumAbsolute); ++op) {
    SCOPED_TRACE(op);
    check(static_cast<ReduceOp>(op), DType::kFloat32, GetParam());
  }
}

TEST_P(Reduce, EveryDtype) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    check(ReduceOp::kSum, dtype, GetParam(), 0, 2);
    check(ReduceOp::kVar, dtype, GetParam());
    check(ReduceOp::kMaxWithIndex, dtype, GetParam());
  }
  for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAmax, ReduceOp::kAmin, ReduceOp::kAny,
                              ReduceOp::kAll, ReduceOp::kArgmax, ReduceOp::kMinWithIndex}) {
      SCOPED_TRACE(static_cast<int>(op));
      check(op, dtype, GetParam(), 0, 3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Reduce, ::testing::ValuesIn(kLayouts),
                         [](const auto& test) { return std::string(test.param.name); });

double reduce_row(ReduceOp op, const std::vector<double>& row, double correction = 1) {
  const auto count = static_cast<std::int64_t>(row.size());
  Strided input(OperandSpec::contiguous(DType::kFloat32, {count}));
  Strided output(OperandSpec::contiguous(result_dtype(op, DType::kFloat32), {1}));
  input.fill([&](const Index& at) { return row[static_cast<std::size_t>(at[0])]; });
  ReduceSpec spec;
  spec.op = op;
  spec.input = input.spec();
  spec.dims = {0};
  spec.correction = correction;
  spec.output = output.spec();
  run_kernel(*select_reduce(spec), {&input, &output});
  return output.get({0});
}

TEST(ReduceSpecialValues, NothingAndNan) {
  EXPECT_EQ(reduce_row(ReduceOp::kSum, {}), 0);
  EXPECT_EQ(reduce_row(ReduceOp::kProd, {}), 1);
  EXPECT_EQ(reduce_row(ReduceOp::kAny, {}), 0);
  EXPECT_EQ(reduce_row(ReduceOp::kAll, {}), 1);
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::kMean, {})));
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::kVar, {})));
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::kVar, {3})));
  EXPECT_EQ(reduce_row(ReduceOp::kVar, {3}, 0), 0);
  EXPECT_THROW(reduce_row(ReduceOp::kAmax, {}), Error);
  EXPECT_THROW(reduce_row(ReduceOp::kArgmin, {}), Error);
  const std::vector<double> row = {1, 5, kNaN, 7, kNaN, -3};
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::kAmax, row)));
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::kAmin, row)));
  EXPECT_EQ(reduce_row(ReduceOp::kArgmax, row), 2);
  EXPECT_EQ(reduce_row(ReduceOp::kArgmin, row), 2);
  EXPECT_EQ(reduce_row(ReduceOp::kAny, {0, kNaN}), 1);
  std::vector<double> ties(100, 2.0);
  ties[0] = 1;
  EXPECT_EQ(reduce_row(ReduceOp::kArgmax, ties), 1);
  EXPECT_EQ(reduce_row(ReduceOp::kAmax, {-kInf, -kInf}), -kInf);
  EXPECT_EQ(reduce_row(ReduceOp::kArgmax, {-kInf, -kInf}), 0);
}

TEST(ReduceAccuracy, LongSumsAndShiftedVariance) {
  EXPECT_EQ(reduce_row(ReduceOp::kSum, std::vector<double>(1 << 20, 0.1f)),
            static_cast<float>(0.1f * (1 << 20)));
  std::vector<double> row;
  for (int i = 0; i < 1000; ++i) row.push_back(100000 + i % 2);
  EXPECT_NEAR(reduce_row(ReduceOp::kVar, row, 0), 0.25, 1e-9);
}

struct ScanCase {
  const char* name;
  Sizes sizes;
  std::int64_t dim;
  Placement input = {}, output = {};
};

class Scan : public ::testing::TestWithParam<ScanCase> {};

TEST_P(Scan, MatchesDefinition) {
  const ScanCase& test = GetParam();
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool}) {
    for (const ScanOp op : {ScanOp::kSum, ScanOp::kProd}) {
      std::mt19937 random(37);
      const DType result = dtype == DType::kFloat32 ? dtype : DType::kInt64;
      Strided input(placed(dtype, test.sizes, test.input));
      Strided output(placed(result, test.sizes, test.output));
      input.fill_random(random, 0, 1.9);
      run_kernel(*select_scan({op, input.spec(), test.dim, output.spec(), 2}), {&input, &output});
      expect_close(
          output,
          [&](const Index& at) {
            if (at.empty()) return input.get(at);
            double running = op == ScanOp::kSum ? 0 : 1;
            Index element = at;
            const auto dim = static_cast<std::size_t>(test.dim);
            for (element[dim] = 0; element[dim] <= at[dim]; ++element[dim]) {
              if (op == ScanOp::kSum) {
                running += input.get(element);
              } else {
                running *= input.get(element);
              }
            }
            return running;
          },
          1e-30, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Scan,
    ::testing::Values(ScanCase{"vector", {600}, 0}, ScanCase{"last", {4, 33}, 1},
                      ScanCase{"first", {33, 4}, 0}, ScanCase{"scalar", {}, 0},
                      ScanCase{"empty", {3, 0}, 1}, ScanCase{"empty_lines", {0, 3}, 1},
                      ScanCase{"strided", {4, 33, 5}, 1, {{2, 0, 1}, 1}, {{}, 0, 2}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace unfuse::cpu::testing
