#include "targets/cpu/kernels/gather.h"

#include <algorithm>
#include <map>

#include "kernels/strided.h"
#include "unfuse/error.h"

namespace unfuse::cpu::testing {
namespace {

struct IndexCase {
  const char* name;
  Sizes input;
  std::vector<std::int64_t> dims;
  Sizes shape;  ///< of the indices
  Placement input_placement = {}, index_placement = {}, output_placement = {};
  DType dtype = DType::kFloat32;
  DType output_dtype = DType::kFloat32;
  DType index_dtype = DType::kInt64;
};

struct IndexOperands {
  Strided input;
  std::vector<Strided> indices;
  Sizes output_sizes;
  std::size_t place;  ///< where the shape begins in the output

  std::vector<OperandSpec> index_specs() const {
    std::vector<OperandSpec> specs;
    for (const Strided& index : indices) specs.push_back(index.spec());
    return specs;
  }
};

IndexOperands make(const IndexCase& test) {
  std::mt19937 random(41);
  IndexOperands made = {Strided(placed(test.dtype, test.input, test.input_placement)), {}, {}, 0};
  made.input.fill_random(random, 0, 100);
  for (const std::int64_t dim : test.dims) {
    made.indices.emplace_back(placed(test.index_dtype, test.shape, test.index_placement));
    const std::int64_t size = test.input[static_cast<std::size_t>(dim)];
    std::uniform_int_distribution<std::int64_t> uniform(-size, size - 1);
    made.indices.back().fill([&](const Index&) { return static_cast<double>(uniform(random)); });
  }
  const bool adjacent =
      test.dims.back() - test.dims.front() + 1 == static_cast<std::int64_t>(test.dims.size());
  made.place = adjacent ? static_cast<std::size_t>(test.dims.front()) : 0;
  for (std::size_t dim = 0; dim < test.input.size(); ++dim) {
    if (std::count(test.dims.begin(), test.dims.end(), dim) == 0) {
      made.output_sizes.push_back(test.input[dim]);
    }
  }
  made.output_sizes.insert(made.output_sizes.begin() + static_cast<std::ptrdiff_t>(made.place),
                           test.shape.begin(), test.shape.end());
  return made;
}

/// The element of the input that the output's element comes from.
Index source_of(const IndexCase& test, const IndexOperands& made, const Index& at) {
  const auto begin = at.begin() + static_cast<std::ptrdiff_t>(made.place);
  const auto end = begin + static_cast<std::ptrdiff_t>(test.shape.size());
  const Index position(begin, end);
  Index rest(at.begin(), begin);
  rest.insert(rest.end(), end, at.end());
  Index source;
  std::size_t next = 0;
  for (std::size_t dim = 0; dim < test.input.size(); ++dim) {
    const auto found = std::find(test.dims.begin(), test.dims.end(), dim);
    if (found == test.dims.end()) {
      source.push_back(rest[next++]);
      continue;
    }
    const auto which = static_cast<std::size_t>(found - test.dims.begin());
    const auto index = static_cast<std::int64_t>(made.indices[which].get(position));
    source.push_back(index < 0 ? index + test.input[dim] : index);
  }
  return source;
}

class IndexKernelTest : public ::testing::TestWithParam<IndexCase> {};

TEST_P(IndexKernelTest, ReadsAndWrites) {
  const IndexCase& test = GetParam();
  IndexOperands made = make(test);
  Strided output(placed(test.output_dtype, made.output_sizes, test.output_placement));
  const IndexSpec spec = {made.input.spec(), test.dims, made.index_specs(), true, output.spec(), 2};
  std::vector<Strided*> operands = {&made.input};
  for (Strided& index : made.indices) operands.push_back(&index);
  operands.push_back(&output);
  run_kernel(*select_index(spec), operands);
  expect_close(
      output, [&](const Index& at) { return made.input.get(source_of(test, made, at)); }, 0);

  // And back: the same indices write what they read, one after the other.
  if (test.dtype != test.output_dtype) return;
  for (const bool accumulate : {false, true}) {
    if (accumulate && test.dtype == DType::kBool) continue;
    std::map<Index, double> expected;
    for_each_index(test.input, [&](const Index& at) { expected[at] = made.input.get(at); });
    std::mt19937 random(43);
    output.fill_random(random, 0, 100);
    for_each_index(made.output_sizes, [&](const Index& at) {
      double& element = expected[source_of(test, made, at)];
      element = output.get(at) + (accumulate ? element : 0);
    });
    IndexPutSpec put;
    put.values = output.spec();
    put.dims = test.dims;
    put.indices = made.index_specs();
    put.accumulate = accumulate;
    put.output = made.input.spec();
    operands.front() = &output;
    operands.back() = &made.input;
    run_kernel(*select_index_put(put), operands);
    // With repeated indices the last writer in row-major order of the positions wins; here the
    // positions come before or between the other dims, so both orders agree.
    expect_close(
        made.input, [&](const Index& at) { return expected[at]; }, 1e-4, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, IndexKernelTest,
    ::testing::Values(
        IndexCase{"embedding", {50, 16}, {0}, {3, 7}}, IndexCase{"vector", {50}, {0}, {9}},
        IndexCase{"scalar_index", {5, 4}, {0}, {}}, IndexCase{"last", {5, 20}, {1}, {8}},
        IndexCase{"middle", {4, 20, 6}, {1}, {8}}, IndexCase{"many", {500, 64}, {0}, {900}},
        IndexCase{"two_adjacent", {4, 5, 6, 7}, {1, 2}, {3, 2}},
        IndexCase{"two_apart", {4, 5, 6, 7}, {0, 2}, {3, 2}},
        IndexCase{"every_dim", {4, 5, 6}, {0, 1, 2}, {11}},
        IndexCase{"int32",
                  {50, 16},
                  {0},
                  {3, 7},
                  {},
                  {},
                  {},
                  DType::kFloat32,
                  DType::kFloat32,
                  DType::kInt32},
        IndexCase{"bytes", {50, 16}, {0}, {9}, {}, {}, {}, DType::kBool, DType::kBool},
        IndexCase{"int64", {50, 16}, {0}, {9}, {}, {}, {}, DType::kInt64, DType::kInt64},
        IndexCase{"halves", {50, 16}, {0}, {9}, {}, {}, {}, DType::kFloat16, DType::kFloat16},
        IndexCase{"widened", {50, 16}, {0}, {9}, {}, {}, {}, DType::kFloat16},
        IndexCase{"widened_strided", {50, 16}, {0}, {9}, {{1, 0}}, {}, {{1, 0}}, DType::kBFloat16},
        IndexCase{
            "strided", {4, 20, 6}, {1}, {8, 2}, {{2, 0, 1}, 1}, {{1, 0}, 2}, {{1, 3, 0, 2}, 1}},
        IndexCase{"no_positions", {5, 4}, {0}, {0}}, IndexCase{"no_elements", {5, 0}, {0}, {3}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(IndexErrors, OutOfRange) {
  Strided input(OperandSpec::contiguous(DType::kFloat32, {5, 4}));
  Strided index(OperandSpec::contiguous(DType::kInt64, {2}));
  Strided output(OperandSpec::contiguous(DType::kFloat32, {2, 4}));
  input.fill([](const Index&) { return 1; });
  const auto run = [&](double first, bool wrap_negative) {
    index.fill([&](const Index& at) { return at[0] == 0 ? first : 0; });
    const IndexSpec spec = {input.spec(), {0}, {index.spec()}, wrap_negative, output.spec(), 2};
    run_kernel(*select_index(spec), {&input, &index, &output});
  };
  EXPECT_NO_THROW(run(-5, true));
  EXPECT_THROW(run(-6, true), Error);
  EXPECT_THROW(run(5, true), Error);
  EXPECT_THROW(run(-1, false), Error);
}

struct GatherCase {
  const char* name;
  Sizes input, index;
  std::int64_t dim;
  Placement input_placement = {}, index_placement = {}, output_placement = {};
  DType dtype = DType::kFloat32;
};

class Gather : public ::testing::TestWithParam<GatherCase> {};

TEST_P(Gather, MatchesDefinition) {
  const GatherCase& test = GetParam();
  std::mt19937 random(47);
  Strided input(placed(test.dtype, test.input, test.input_placement));
  Strided index(placed(DType::kInt64, test.index, test.index_placement));
  Strided output(placed(test.dtype, test.index, test.output_placement));
  input.fill_random(random, 0, 100);
  const std::int64_t size = test.input.empty() ? 1 : test.input[static_cast<std::size_t>(test.dim)];
  std::uniform_int_distribution<std::int64_t> uniform(0, std::max<std::int64_t>(0, size - 1));
  index.fill([&](const Index&) { return static_cast<double>(uniform(random)); });
  run_kernel(*select_gather({input.spec(), test.dim, index.spec(), output.spec(), 2}),
             {&input, &index, &output});
  expect_close(
      output,
      [&](const Index& at) {
        Index from = at;
        if (!at.empty()) {
          from[static_cast<std::size_t>(test.dim)] = static_cast<std::int64_t>(index.get(at));
        }
        return input.get(from);
      },
      0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Gather,
    ::testing::Values(
        GatherCase{"first", {5, 6}, {9, 6}, 0}, GatherCase{"last", {5, 6}, {5, 9}, 1},
        GatherCase{"smaller", {5, 6, 7}, {3, 2, 7}, 1}, GatherCase{"scalar", {}, {}, 0},
        GatherCase{"empty", {5, 6}, {0, 6}, 0},
        GatherCase{"bytes", {5, 6}, {9, 6}, 0, {}, {}, {}, DType::kUInt8},
        GatherCase{"doubles", {5, 6}, {9, 6}, 0, {}, {}, {}, DType::kFloat64},
        GatherCase{
            "strided", {5, 6, 7}, {5, 3, 7}, 1, {{2, 1, 0}}, {{}, 0, 1, {2}}, {{1, 0, 2}, 1}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(GatherErrors, OutOfRange) {
  Strided input(OperandSpec::contiguous(DType::kFloat32, {5}));
  Strided index(OperandSpec::contiguous(DType::kInt64, {1}));
  Strided output(OperandSpec::contiguous(DType::kFloat32, {1}));
  for (const double bad : {-1.0, 5.0}) {
    index.set({0}, bad);
    EXPECT_THROW(run_kernel(*select_gather({input.spec(), 0, index.spec(), output.spec(), 1}),
                            {&input, &index, &output}),
                 Error);
  }
}

}  // namespace
}  // namespace unfuse::cpu::testing
