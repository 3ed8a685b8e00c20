#include "program/compiled_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "support/graph_parser.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

using Floats = std::vector<float>;

Tensor floats(std::vector<std::int64_t> sizes, const Floats& values) {
  Tensor tensor = Tensor::empty(DType::kFloat32, std::move(sizes));
  std::copy(values.begin(), values.end(), tensor.data_as<float>());
  return tensor;
}

Tensor integer(std::int64_t value) {
  Tensor tensor = Tensor::empty(DType::kInt64, {});
  *tensor.data_as<std::int64_t>() = value;
  return tensor;
}

Floats values_of(const Tensor& tensor) {
  EXPECT_TRUE(tensor.is_contiguous());
  return {tensor.data_as<float>(), tensor.data_as<float>() + tensor.numel()};
}

/// Gives data to the input of this target.
void set_data(Graph& graph, const std::string& target, Tensor data) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.inputs()[i].target == target) graph.set_input_data(i, data);
  }
}

CompiledProgram compile(Graph graph) {
  pt2::ExportedProgram exported;
  exported.graph = std::move(graph);
  CompileOptions options;
  options.threads = 1;
  return CompiledProgram(std::move(exported), options, "model.pt2");
}

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::kInternal, "nothing was thrown");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CompiledProgram, TellsItsCall) {
  const CompiledProgram program = compile(testing::parse_graph(R"(
    symbol s0 in [2, 64]
    input user %x: f32[s0, 3] from pair_0
    input literal mode = "mean"
    input user %n: int(s0)
    %y = aten.add.Tensor(%x, %x)
    output user %y
    output user None
    output user 7
  )"));
  ASSERT_EQ(program.inputs().size(), 2u);
  EXPECT_EQ(program.inputs()[0].name, "pair_0");
  EXPECT_EQ(program.inputs()[0].sizes[0].text, "s0");
  EXPECT_EQ(program.inputs()[0].sizes[0].minimum, 2);
  EXPECT_EQ(program.inputs()[0].sizes[0].maximum, 64);
  EXPECT_TRUE(program.inputs()[0].sizes[1].fixed());
  EXPECT_EQ(program.inputs()[1].dtype, DType::kInt64);
  EXPECT_TRUE(program.inputs()[1].sizes.empty());

  ASSERT_EQ(program.flat_inputs().size(), 3u);
  EXPECT_EQ(program.flat_inputs()[1].position, -1);
  EXPECT_EQ(program.flat_inputs()[1].literal, Argument("mean"));
  EXPECT_FALSE(program.flat_inputs()[2].is_tensor);

  ASSERT_EQ(program.outputs().size(), 1u);
  EXPECT_EQ(program.outputs()[0].name, "y");
  ASSERT_EQ(program.flat_outputs().size(), 3u);
  EXPECT_EQ(program.flat_outputs()[0].position, 0);
  EXPECT_TRUE(program.flat_outputs()[1].constant.is_none());
  EXPECT_EQ(program.flat_outputs()[2].constant, Argument(7));

  const Tensor inputs[] = {floats({2, 3}, {1, 2, 3, 4, 5, 6}), integer(2)};
  EXPECT_EQ(values_of(program.run(inputs)[0]), (Floats{2, 4, 6, 8, 10, 12}));
  const Tensor unequal[] = {inputs[0], integer(3)};
  EXPECT_EQ(error_of([&] { program.run(unequal); }).kind(), ErrorKind::kInvalidArgument);
}

TEST(CompiledProgram, ErrorsNameTheInput) {
  const CompiledProgram program = compile(testing::parse_graph(R"(
    input user %x: f32[2]
    input user %mask: b8[2]
    %y = aten.where.ScalarOther(%mask, %x, 0)
    output user %y
  )"));
  const Tensor x = floats({2}, {1, 2});
  const auto message = [&](std::vector<Tensor> inputs) {
    const Error error = error_of([&] { program.run(inputs); });
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return std::string(error.what());
  };
  EXPECT_TRUE(contains(message({x}), "x, mask"));
  EXPECT_TRUE(contains(message({x, x}), "'mask'"));
  EXPECT_TRUE(contains(message({x, Tensor()}), "'mask'"));
  EXPECT_TRUE(contains(message({floats({3}, {1, 2, 3}), Tensor::empty(DType::kBool, {2})}), "'x'"));
}

TEST(CompiledProgram, ListsEveryOpLeft) {
  Graph graph = testing::parse_graph(R"(
    input user %x: f32[2]
    %a: f32[2] = custom.first.default(%x)
    %b: f32[2] = custom.second.default(%a)
    %c: f32[2] = custom.second.default(%b)
    output user %c
  )");
  for (Node* node : graph.nodes()) node->set_origin({"layers.0", "model.py:3"});
  pt2::ExportedProgram exported;
  exported.graph = std::move(graph);
  const Error error =
      error_of([&] { CompiledProgram(std::move(exported), CompileOptions(), "model.pt2"); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.where(), "model.pt2");
  EXPECT_TRUE(contains(error.message(), "3 nodes")) << error.message();
  EXPECT_TRUE(contains(error.message(), "custom.first.default")) << error.message();
  EXPECT_TRUE(contains(error.message(), "custom.second.default (2 times)")) << error.message();
  EXPECT_TRUE(contains(error.message(), "layers.0 (model.py:3)")) << error.message();
}

/// Counts its calls in a buffer and gives the sum so far.
Graph counting_graph() {
  Graph graph = testing::parse_graph(R"(
    input buffer %total: f32[2] from total
    input user %x: f32[2] from x
    %sum = aten.add.Tensor(%total, %x)
    output buffer mutation %sum to total
    output user %sum
  )");
  set_data(graph, "total", floats({2}, {0, 0}));
  return graph;
}

TEST(CompiledProgram, BuffersAreKept) {
  const CompiledProgram program = compile(counting_graph());
  ASSERT_EQ(program.inputs().size(), 1u);
  const Tensor inputs[] = {floats({2}, {1, 10})};
  EXPECT_EQ(values_of(program.run(inputs)[0]), (Floats{1, 10}));
  const std::vector<Tensor> second = program.run(inputs);
  EXPECT_EQ(values_of(program.run(inputs)[0]), (Floats{3, 30}));
  EXPECT_EQ(values_of(second[0]), (Floats{2, 20}));  // a result is the caller's own
  second[0].data_as<float>()[0] = 1000;
  EXPECT_EQ(values_of(program.run(inputs)[0]), (Floats{4, 40}));
}

TEST(CompiledProgram, BuffersAreReplacedWhole) {
  const CompiledProgram program = compile(counting_graph());
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Tensor inputs[] = {floats({2}, {1, 10})};
      for (int i = 0; i < 200; ++i) {
        const Floats result = values_of(program.run(inputs)[0]);
        if (result[1] != 10 * result[0]) ++torn;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
}

TEST(CompiledProgram, WritesInputsThatTheModelWrites) {
  const CompiledProgram program = compile(testing::parse_graph(R"(
    input user %x: f32[2, 2] from x
    %y = aten.mul.Scalar(%x, 2)
    output input mutation %y to x
    output user %x
  )"));
  Tensor memory = floats({2, 2}, {1, 2, 3, 4});
  const Tensor turned =
      Tensor::view(memory.data(), DType::kFloat32, {2, 2}, {1, 2}, memory.storage());
  const Tensor inputs[] = {turned};
  const std::vector<Tensor> outputs = program.run(inputs);
  EXPECT_EQ(values_of(memory), (Floats{2, 4, 6, 8}));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(values_of(outputs[0]), (Floats{1, 3, 2, 4}));
}

TEST(CompiledProgram, TellsItsWorkingMemory) {
  const CompiledProgram program = compile(testing::parse_graph(R"(
    symbol s0 in [1, 4096]
    input user %x: f32[s0, 64] from x
    %a = aten.transpose.int(%x, 0, 1)
    %b = aten.matmul.default(%x, %a)
    %c = aten.relu.default(%b)
    %d = aten.matmul.default(%c, %x)
    output user %d
  )"));
  const Tensor few[] = {Tensor::empty(DType::kFloat32, {8, 64})};
  const Tensor many[] = {Tensor::empty(DType::kFloat32, {512, 64})};
  EXPECT_GE(program.arena_bytes(few), 2 * 8 * 8 * 4);
  EXPECT_GE(program.arena_bytes(many), 2 * 512 * 512 * 4);
}

}  // namespace
}  // namespace unfuse
