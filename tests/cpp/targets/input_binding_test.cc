#include "targets/cpu/input_binding.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "compiled.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

using testing::add_user_input;

InputValue sized(std::vector<std::int64_t> sizes, DType dtype = DType::kFloat32) {
  static std::deque<Tensor> referred_to;
  return referred_to.emplace_back(Tensor::view(nullptr, dtype, sizes, contiguous_strides(sizes)));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.what();
  }
  return "nothing was thrown";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

class InputBindingTest : public ::testing::Test {
 protected:
  Dim s0 = Dim::symbol("s0");
  Dim s1 = Dim::symbol("s1");
  Graph graph;
};

TEST_F(InputBindingTest, ReadsBareSizes) {
  add_user_input(graph, "x", DType::kFloat32, {s0, 4, s1});
  add_user_input(graph, "y", DType::kFloat32, {s1, s0 * s1});
  const InputBinding binding(graph);
  const std::vector<InputValue> values = {sized({3, 4, 5}), sized({5, 15})};
  EXPECT_EQ(binding.bind(values), (SymbolValues{{"s0", 3}, {"s1", 5}}));
}

TEST_F(InputBindingTest, SolvesLinearSizes) {
  add_user_input(graph, "x", DType::kFloat32, {s0 * Dim(2) + Dim(1)});
  const InputBinding binding(graph);
  EXPECT_EQ(binding.bind(std::vector<InputValue>{sized({9})}), (SymbolValues{{"s0", 4}}));
  const std::string message = message_of([&] { binding.bind(std::vector{sized({8})}); });
  expect_contains(message, "input 'x'");
  expect_contains(message, "8");
}

TEST_F(InputBindingTest, PrefersBareSizes) {
  add_user_input(graph, "x", DType::kFloat32, {s0 * Dim(2)});
  add_user_input(graph, "y", DType::kFloat32, {s0});
  const InputBinding binding(graph);
  const std::string message = message_of([&] {
    binding.bind(std::vector{sized({7}), sized({3})});
  });
  expect_contains(message, "input 'x'");
  expect_contains(message, "6");
  expect_contains(message, "input 'y'");
}

TEST_F(InputBindingTest, IntsBindSymbols) {
  GraphInput input;
  input.target = "length";
  graph.add_input("length", IntType{s0}, std::move(input));
  add_user_input(graph, "x", DType::kFloat32, {s0});
  const InputBinding binding(graph);
  const std::vector<InputValue> values = {std::int64_t{6}, sized({6})};
  EXPECT_EQ(binding.bind(values), (SymbolValues{{"s0", 6}}));
  const std::string message = message_of([&] {
    binding.bind(std::vector<InputValue>{std::int64_t{6}, sized({5})});
  });
  expect_contains(message, "input 'x'");
}

TEST_F(InputBindingTest, ChecksEverything) {
  graph.symbols["s0"] = {2, 8};
  add_user_input(graph, "x", DType::kFloat32, {s0, 4});
  add_user_input(graph, "mask", DType::kBool, {s0});
  const InputBinding binding(graph);
  const auto message = [&](std::vector<InputValue> values) {
    return message_of([&] { binding.bind(values); });
  };
  expect_contains(message({sized({3, 4})}), "2 are needed");
  expect_contains(message({sized({3, 4}), sized({3})}), "input 'mask'");
  expect_contains(message({sized({3, 4}), sized({3})}), "bool");
  expect_contains(message({sized({3, 4, 1}), sized({3}, DType::kBool)}), "3 dimensions");
  expect_contains(message({sized({3, 5}), sized({3}, DType::kBool)}), "size 5 in dimension 1");
  expect_contains(message({sized({3, 4}), sized({4}, DType::kBool)}), "input 'mask'");
  expect_contains(message({sized({9, 4}), sized({9}, DType::kBool)}), "from 2 to 8");
  expect_contains(message({sized({1, 4}), sized({1}, DType::kBool)}), "input 'x'");
  expect_contains(message({std::int64_t{1}, sized({1}, DType::kBool)}), "a tensor is needed");
}

TEST_F(InputBindingTest, RefusesSymbolsThatNoInputTells) {
  add_user_input(graph, "x", DType::kFloat32, {Dim::floordiv(s0, 2)});
  EXPECT_THROW(InputBinding{graph}, Error);
}

}  // namespace
}  // namespace unfuse::cpu
