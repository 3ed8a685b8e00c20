// Running a graph from text with the target's passes and without them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "compiled.h"
#include "passes/pass_testing.h"
#include "passes/passes.h"
#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/workspace.h"

namespace unfuse::testing {

/// The names of a plan's steps, in order.
using Steps = std::vector<std::string>;

inline int count_of(const Steps& steps, std::string_view name) {
  return static_cast<int>(std::count(steps.begin(), steps.end(), name));
}

/// Leaves passes out while it lives.
class SkippedFusion {
 public:
  explicit SkippedFusion(const char* passes) { setenv("UNFUSE_SKIP_FUSION", passes, 1); }
  ~SkippedFusion() { unsetenv("UNFUSE_SKIP_FUSION"); }
  SkippedFusion(const SkippedFusion&) = delete;
  SkippedFusion& operator=(const SkippedFusion&) = delete;
};

/// Numbers around 0; small ints and bools of both kinds.
inline Tensor random_of(DType dtype, const Sizes& sizes, std::uint32_t seed) {
  if (dtype == DType::kFloat32) return random_tensor(sizes, seed);
  Tensor result = Tensor::empty(dtype, sizes);
  std::mt19937 generator(seed);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const auto drawn = static_cast<std::int64_t>(generator() % 16) - 4;
    if (dtype == DType::kBool) result.data_as<bool>()[i] = drawn > 3;
    if (dtype == DType::kInt64) result.data_as<std::int64_t>()[i] = drawn;
    if (dtype == DType::kFloat64) result.data_as<double>()[i] = static_cast<double>(drawn) / 3;
    if (dtype == DType::kUInt8) {
      result.data_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(generator());
    }
  }
  return result;
}

/// The graph, random data in its parameters.
inline Graph graph_with_data(std::string_view text) {
  Graph graph = parse_graph(text);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphInput& input = graph.inputs()[i];
    if (input.kind == InputKind::kUser) continue;
    const TensorType& type = input.value->tensor();
    graph.set_input_data(i, random_of(type.dtype, *constants(type.sizes), 100 + i));
  }
  return graph;
}

struct FusionRun {
  Steps steps;
  std::vector<Tensor> outputs;
};

inline FusionRun run_graph(std::string_view text, const std::vector<Tensor>& inputs) {
  cpu::set_arena_poisoning(true);
  const Compiled compiled(graph_with_data(text));
  FusionRun run{cpu::Executable::step_names(*compiled.plan(inputs)), compiled.run(inputs)};
  cpu::set_arena_poisoning(false);
  return run;
}

inline double as_double(const Tensor& tensor, std::int64_t index) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return elements<float>(tensor)[static_cast<std::size_t>(index)];
    case DType::kFloat64:
      return elements<double>(tensor)[static_cast<std::size_t>(index)];
    case DType::kInt64:
      return static_cast<double>(elements<std::int64_t>(tensor)[static_cast<std::size_t>(index)]);
    default:
      return elements<std::uint8_t>(tensor)[static_cast<std::size_t>(index)];
  }
}

inline void expect_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  ASSERT_EQ(actual.strides(), expected.strides());
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    const double one = as_double(actual, i), other = as_double(expected, i);
    if (std::isnan(one) && std::isnan(other)) continue;
    if (one == other) continue;
    ASSERT_NEAR(one, other, tolerance * std::max(1.0, std::fabs(other))) << "at " << i;
  }
}

/// Runs the graph on random inputs with the passes and without; both must give the same. Returns
/// the names of the fused plan's steps. Symbolic sizes are 5.
inline Steps fused_steps(std::string_view text, double tolerance = 1e-5) {
  const Graph parsed = parse_graph(text);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : parsed.inputs()) {
    if (input.kind != InputKind::kUser) continue;
    SymbolValues symbols;
    for (const auto& [name, range] : parsed.symbols) symbols[name] = 5;
    Sizes sizes;
    for (const Dim& size : input.value->sizes()) sizes.push_back(size.evaluate(symbols));
    inputs.push_back(random_of(input.value->dtype(), sizes, 1 + inputs.size()));
  }
  const FusionRun fused = run_graph(text, inputs);
  const SkippedFusion skipped("all");
  const FusionRun plain = run_graph(text, inputs);
  EXPECT_EQ(fused.outputs.size(), plain.outputs.size());
  for (std::size_t i = 0; i < plain.outputs.size(); ++i) {
    expect_close(fused.outputs[i], plain.outputs[i], tolerance);
  }
  return fused.steps;
}

/// after(), for passes that leave dead nodes behind.
template <Pass kPass>
std::string after_without_dead_code(std::string_view text) {
  return after(
      [](Graph& graph) {
        kPass(graph);
        passes::eliminate_dead_code(graph);
      },
      text);
}

/// The pass finds nothing to do here. Returns the steps that all passes together give, as
/// fused_steps() does.
inline Steps expect_left_alone(Pass pass, std::string_view text) {
  EXPECT_EQ(after(pass, text), body_of(parse_graph(text)));
  return fused_steps(text);
}

}  // namespace unfuse::testing
