#include "targets/cpu/executable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "compiled.h"
#include "ops/aten.h"
#include "targets/cpu/plan.h"
#include "targets/cpu/workspace.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

using testing::add_output;
using testing::add_parameter;
using testing::add_user_input;
using testing::Compiled;
using testing::elements;
using testing::random_tensor;
using testing::tensor;
namespace aten = ops::aten;

using Floats = std::vector<float>;

class ExecutableTest : public ::testing::Test {
 protected:
  ExecutableTest() : builder(graph, nullptr) { cpu::set_arena_poisoning(true); }
  ~ExecutableTest() override { cpu::set_arena_poisoning(false); }

  Value* input(const std::string& name, std::vector<Dim> sizes, DType dtype = DType::kFloat32) {
    return add_user_input(graph, name, dtype, std::move(sizes));
  }

  Graph graph;
  Builder builder;
};

TEST_F(ExecutableTest, RunsPointwiseOps) {
  Value* x = input("x", {2, 3});
  Value* y = input("y", {3});
  add_output(graph, aten::mul(builder, aten::add(builder, x, y, 2), 10));
  const Compiled compiled(std::move(graph));
  const auto result =
      compiled.run({tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<float>({3}, {1, 0, -1})});
  EXPECT_EQ(elements<float>(result[0]), (Floats{30, 20, 10, 60, 50, 40}));
}

TEST_F(ExecutableTest, ViewsAreNotCopied) {
  Value* x = input("x", {4, 6});
  Value* heads = aten::permute(builder, aten::view(builder, x, {4, 2, 3}), {1, 0, 2});
  Value* part = aten::slice(builder, heads, 1, 1, 4, 2);
  Value* one = aten::select(builder, part, 2, 2);
  add_output(graph, aten::neg(builder, one));
  const Compiled compiled(std::move(graph));
  Tensor in = random_tensor({4, 6});
  const auto result = compiled.run({in});
  // [head, row]: rows 1 and 3, column 3 * head + 2.
  const float* data = in.data_as<float>();
  EXPECT_EQ(elements<float>(result[0]), (Floats{-data[8], -data[20], -data[11], -data[23]}));
  EXPECT_EQ(compiled.plan({in})->steps.size(), 1u);
}

TEST_F(ExecutableTest, ReshapeCopiesWhereItMust) {
  Value* x = input("x", {2, 3});
  add_output(graph, aten::reshape(builder, aten::transpose(builder, x, 0, 1), {6}));
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run({tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(elements<float>(result[0]), (Floats{1, 4, 2, 5, 3, 6}));
}

TEST_F(ExecutableTest, ReadsInputsOfAnyStrides) {
  Value* x = input("x", {2, 3});
  add_output(graph, aten::neg(builder, x));
  const Compiled compiled(std::move(graph));
  Tensor memory = tensor<float>({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor turned =
      Tensor::view(memory.data(), DType::kFloat32, {2, 3}, {1, 2}, memory.storage());
  EXPECT_EQ(elements<float>(compiled.run({turned})[0]), (Floats{-1, -2, -3, -4, -5, -6}));
  const Tensor broadcast =
      Tensor::view(memory.data(), DType::kFloat32, {2, 3}, {0, 1}, memory.storage());
  EXPECT_EQ(elements<float>(compiled.run({broadcast})[0]), (Floats{-1, -4, -2, -1, -4, -2}));
}

TEST_F(ExecutableTest, LinearLayersReadRowsThatOverlapInPlace) {
  Value* x = input("x", {2, 2});
  Value* weight = add_parameter(graph, "weight", tensor<float>({1, 2}, {10, 1}));
  Value* residual = aten::expand(builder, input("y", {1, 1}), {2, 1});
  add_output(graph, aten::add(builder, aten::linear(builder, x, weight), residual));
  const Compiled compiled(std::move(graph));
  const Tensor memory = tensor<float>({3}, {1, 2, 3});
  const Tensor one = tensor<float>({1, 1}, {100});
  const auto rows = [&](std::int64_t distance) {
    return Tensor::view(memory.data(), DType::kFloat32, {2, 2}, {distance, 1}, memory.storage());
  };
  EXPECT_EQ(elements<float>(compiled.run({rows(1), one})[0]), (Floats{112, 123}));
  EXPECT_EQ(elements<float>(compiled.run({rows(0), one})[0]), (Floats{112, 112}));
  for (const std::int64_t distance : {0, 1}) {
    EXPECT_EQ(compiled.plan({rows(distance), one})->steps.size(), 1U);
  }
}

TEST_F(ExecutableTest, OutputsHaveTheRecordedStrides) {
  Value* x = input("x", {2, 3});
  Value* turned = aten::transpose(builder, aten::neg(builder, x), 0, 1);
  add_output(graph, turned);
  add_output(graph, aten::expand(builder, x, {2, 2, 3}));
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run({tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(result[0].strides(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(elements<float>(result[0]), (Floats{-1, -4, -2, -5, -3, -6}));
  EXPECT_TRUE(result[1].is_contiguous());
  EXPECT_EQ(elements<float>(result[1]), (Floats{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST_F(ExecutableTest, OutputsThatAreInputsConstantsOrEachOther) {
  Value* x = input("x", {2});
  Value* weight = add_parameter(graph, "weight", tensor<float>({2}, {5, 6}));
  Value* sum = aten::add(builder, x, weight);
  add_output(graph, x);
  add_output(graph, weight);
  add_output(graph, sum);
  add_output(graph, sum);
  add_output(graph, aten::unsqueeze(builder, sum, 0));
  add_output(graph, aten::full(builder, {2}, 7.0, DType::kFloat32));
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run({tensor<float>({2}, {1, 2})});
  EXPECT_EQ(elements<float>(result[0]), (Floats{1, 2}));
  EXPECT_EQ(elements<float>(result[1]), (Floats{5, 6}));
  EXPECT_EQ(elements<float>(result[2]), (Floats{6, 8}));
  EXPECT_EQ(elements<float>(result[3]), (Floats{6, 8}));
  EXPECT_EQ(elements<float>(result[4]), (Floats{6, 8}));
  EXPECT_EQ(elements<float>(result[5]), (Floats{7, 7}));
}

TEST_F(ExecutableTest, EmptyTensors) {
  Value* x = input("x", {0, 3});
  Value* y = input("y", {2, 3});
  add_output(graph, aten::relu(builder, x));
  add_output(graph, aten::cat(builder, {x, y}, 0));
  add_output(graph, aten::sum(builder, x, {0}));
  add_output(graph, aten::softmax(builder, x, 1));
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run(
      {Tensor::empty(DType::kFloat32, {0, 3}), tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(result[0].sizes(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(elements<float>(result[1]), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(elements<float>(result[2]), (Floats{0, 0, 0}));
}

TEST_F(ExecutableTest, SizesArePlannedAnew) {
  graph.symbols["s0"] = {1, 64};
  const Dim s0 = Dim::symbol("s0");
  Value* x = input("x", {s0, 2});
  Value* positions = aten::arange(builder, 0, s0, 1, DType::kFloat32);
  Value* column = aten::unsqueeze(builder, positions, 1);
  add_output(graph, aten::reshape(builder, aten::add(builder, x, column), {s0 * Dim(2)}));
  const Compiled compiled(std::move(graph));
  for (const std::int64_t length : {3, 1, 5, 3}) {
    Tensor in = Tensor::empty(DType::kFloat32, {length, 2});
    Floats expected;
    for (std::int64_t i = 0; i < 2 * length; ++i) {
      in.data_as<float>()[i] = static_cast<float>(i);
      expected.push_back(static_cast<float>(i + i / 2));
    }
    EXPECT_EQ(elements<float>(compiled.run({in})[0]), expected);
  }
  EXPECT_EQ(compiled.plan({Tensor::empty(DType::kFloat32, {3, 2})}),
            compiled.plan({Tensor::empty(DType::kFloat32, {3, 2})}));
  EXPECT_THROW(compiled.plan({Tensor::empty(DType::kFloat32, {65, 2})}), Error);
}

TEST_F(ExecutableTest, WhatDependsOnParametersIsComputedOnce) {
  Value* x = input("x", {2});
  Value* weight = add_parameter(graph, "weight", tensor<float>({2}, {1, 2}));
  Value* prepared = aten::exp(builder, aten::mul(builder, weight, 0.5));
  add_output(graph, aten::add(builder, x, prepared));
  const Compiled compiled(std::move(graph));
  const Tensor in = tensor<float>({2}, {0, 0});
  EXPECT_EQ(compiled.plan({in})->steps.size(), 1u);  // the addition
  const auto result = elements<float>(compiled.run({in})[0]);
  EXPECT_NEAR(result[0], std::exp(0.5), 1e-6);
  EXPECT_NEAR(result[1], std::exp(1.0), 1e-6);
}

TEST_F(ExecutableTest, ParametersComeLaterAndAreASnapshot) {
  Value* x = input("x", {2});
  GraphInput parameter;
  parameter.kind = InputKind::kParameter;
  parameter.target = "weight";
  Value* weight =
      graph.add_input("weight", TensorType::contiguous(DType::kFloat32, {2}), std::move(parameter));
  add_output(graph, aten::add(builder, x, aten::neg(builder, weight)));
  const auto executable = cpu::Executable::compile(std::move(graph), {});
  EXPECT_THROW(executable->prepare({}), Error);
  const Tensor wrong[] = {tensor<float>({3}, {1, 2, 3})};
  EXPECT_THROW(executable->prepare(wrong), Error);
  const Tensor first[] = {tensor<float>({2}, {1, 2})};
  const Tensor second[] = {tensor<float>({2}, {10, 20})};
  const auto before = executable->prepare(first);
  const auto after = executable->prepare(second);
  const Tensor in = tensor<float>({2}, {0, 0});
  const Tensor out = Tensor::empty(DType::kFloat32, {2});
  const cpu::InputValue values[] = {in};
  const auto plan = executable->plan(values);
  void* const inputs[] = {in.data()};
  void* const outputs[] = {out.data()};
  executable->run(*plan, *before, inputs, outputs);
  EXPECT_EQ(elements<float>(out), (Floats{-1, -2}));
  executable->run(*plan, *after, inputs, outputs);
  EXPECT_EQ(elements<float>(out), (Floats{-10, -20}));
}

TEST_F(ExecutableTest, ParametersOfOtherStridesAreCopied) {
  Value* x = input("x", {2, 2});
  GraphInput parameter;
  parameter.kind = InputKind::kParameter;
  parameter.target = "weight";
  Value* weight = graph.add_input("weight", TensorType::contiguous(DType::kFloat32, {2, 2}),
                                  std::move(parameter));
  add_output(graph, aten::add(builder, x, weight));
  const auto executable = cpu::Executable::compile(std::move(graph), {});
  Tensor memory = tensor<float>({2, 2}, {1, 2, 3, 4});
  const Tensor turned[] = {
      Tensor::view(memory.data(), DType::kFloat32, {2, 2}, {1, 2}, memory.storage())};
  const auto preparation = executable->prepare(turned);
  const Tensor in = tensor<float>({2, 2}, {0, 0, 0, 0});
  const Tensor out = Tensor::empty(DType::kFloat32, {2, 2});
  const cpu::InputValue values[] = {in};
  void* const inputs[] = {in.data()};
  void* const outputs[] = {out.data()};
  executable->run(*executable->plan(values), *preparation, inputs, outputs);
  EXPECT_EQ(elements<float>(out), (Floats{1, 3, 2, 4}));
}

TEST_F(ExecutableTest, RefusesNamingEveryNode) {
  Value* x = input("x", {2}, DType::kComplex64);
  add_output(graph, aten::neg(builder, x));
  try {
    cpu::Executable::compile(std::move(graph), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("aten.neg.default"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("complex64"), std::string::npos);
  }
}

TEST_F(ExecutableTest, ManyThreadsAndLengths) {
  graph.symbols["s0"] = {1, 64};
  const Dim s0 = Dim::symbol("s0");
  Value* x = input("x", {s0, 8});
  Value* weight = add_parameter(graph, "weight", random_tensor({8, 8}));
  Value* y = aten::relu(builder, aten::linear(builder, x, weight));
  for (int i = 0; i < 3; ++i) y = aten::add(builder, aten::linear(builder, y, weight), x);
  add_output(graph, aten::softmax(builder, y, -1));
  const Compiled compiled(std::move(graph), 1);

  std::vector<Tensor> inputs;
  std::vector<Floats> expected;
  for (std::int64_t length = 1; length <= 8; ++length) {
    inputs.push_back(random_tensor({length, 8}, static_cast<std::uint32_t>(length)));
    expected.push_back(elements<float>(compiled.run({inputs.back()})[0]));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto at = static_cast<std::size_t>((i * 5 + t) % 8);
        if (elements<float>(compiled.run({inputs[at]})[0]) != expected[at]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

/// A random graph run as a whole, in poisoned memory, must give what its nodes give one by one.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : random_(seed) {}

  void check() {
    Graph whole;
    Builder builder(whole, nullptr);
    std::vector<Value*> values;
    std::vector<Tensor> tensors;
    for (int i = 0; i < 2; ++i) {
      values.push_back(add_user_input(whole, "x" + std::to_string(i), DType::kFloat32, {4, 6}));
      tensors.push_back(random_tensor({4, 6}, random_()));
    }
    const std::vector<Tensor> inputs = tensors;
    for (int step = 0; step < 25; ++step) {
      const std::size_t left = pick(values.size());
      const std::size_t right = pick(values.size());
      const int op = static_cast<int>(pick(9));
      values.push_back(apply(builder, op, values[left], values[right]));
      tensors.push_back(alone(op, tensors[left], tensors[right]));
    }
    std::vector<std::size_t> chosen;
    for (int i = 0; i < 4; ++i) {
      chosen.push_back(pick(values.size()));
      add_output(whole, values[chosen.back()]);
    }
    const Compiled compiled(std::move(whole));
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> outputs = compiled.run(inputs);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        EXPECT_EQ(elements<float>(outputs[i]), elements<float>(tensors[chosen[i]]));
      }
    }
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  /// Every op takes and gives [4, 6].
  static Value* apply(Builder& b, int op, Value* left, Value* right) {
    switch (op) {
      case 0:
        return aten::add(b, left, right);
      case 1:
        return aten::maximum(b, left, right);
      case 2:
        return aten::neg(b, left);
      case 3:
        return aten::reshape(b, aten::transpose(b, left, 0, 1), {4, 6});
      case 4:
        return aten::transpose(b, aten::view(b, aten::contiguous(b, left), {6, 4}), 0, 1);
      case 5:
        return aten::cat(b, {aten::slice(b, left, 0, 2, 4), aten::slice(b, right, 0, 0, 2)}, 0);
      case 6:
        return aten::expand(b, aten::slice(b, left, 0, 1, 2), {4, 6});
      case 7:
        return aten::cat(b, {aten::slice(b, left, 1, 1, 6), aten::slice(b, right, 1, 0, 1)}, 1);
      default:
        return aten::slice_scatter(b, left, aten::slice(b, right, 1, 0, 3), 1, 3, 6);
    }
  }

  static Tensor alone(int op, const Tensor& left, const Tensor& right) {
    Graph graph;
    Value* a = add_user_input(graph, "a", DType::kFloat32, {4, 6});
    Value* b = add_user_input(graph, "b", DType::kFloat32, {4, 6});
    Builder builder(graph, nullptr);
    add_output(graph, apply(builder, op, a, b));
    return Compiled(std::move(graph)).run({left, right})[0];
  }

  std::mt19937 random_;
};

TEST_F(ExecutableTest, MemoryIsReusedOnlyWhenDead) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) RandomGraph(seed).check();
}

}  // namespace
}  // namespace unfuse
