#include <gtest/gtest.h>

#include "compiled.h"
#include "ir/verify.h"
#include "ops/aten.h"
#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/kernels/convert.h"

namespace unfuse::cpu {
namespace {

using testing::add_output;
using testing::add_parameter;
using testing::add_user_input;
using testing::Compiled;
namespace aten = ops::aten;

Tensor half(const std::vector<std::int64_t>& sizes, const std::vector<float>& values) {
  Tensor tensor = Tensor::empty(DType::kFloat16, sizes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.data_as<std::uint16_t>()[i] = float32_to_float16(values[i]);
  }
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values;
  for (const std::uint16_t bits : testing::elements<std::uint16_t>(tensor)) {
    values.push_back(float16_to_float32(bits));
  }
  return values;
}

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const Node* node : graph.nodes()) found += node->is(op);
  return found;
}

TEST(Widen, ComputesInFloat32AndGivesBack16Bits) {
  Graph graph;
  Value* x = add_user_input(graph, "x", DType::kFloat16, {3});
  Value* weight = add_parameter(graph, "weight", half({3}, {1, 2, 3}));
  Builder builder(graph, nullptr);
  // 2048 + 1 is 2048 in float16, and so is 2048 + 1 - 2048 one at a time; not in float32.
  Value* sum = aten::add(builder, x, weight);
  add_output(graph, aten::sub(builder, sum, x));
  widen(graph);
  verify(graph);
  EXPECT_EQ(sum->dtype(), DType::kFloat32);
  EXPECT_EQ(graph.outputs()[0].value.value()->dtype(), DType::kFloat16);
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run({half({3}, {2048, 2048, 2048})});
  EXPECT_EQ(result[0].dtype(), DType::kFloat16);
  EXPECT_EQ(values_of(result[0]), (std::vector<float>{1, 2, 3}));
}

TEST(Widen, RoundsWhereTheModelConverts) {
  Graph graph;
  Value* x = add_user_input(graph, "x", DType::kFloat32, {2});
  Builder builder(graph, nullptr);
  Value* rounded = aten::to_dtype(builder, x, DType::kFloat16);
  Value* doubled = aten::add(builder, rounded, rounded);
  add_output(graph, aten::to_dtype(builder, doubled, DType::kFloat32));
  add_output(graph, rounded);
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run({testing::tensor<float>({2}, {2049, 1.0f / 3})});
  const float third = float16_to_float32(float32_to_float16(1.0f / 3));
  EXPECT_EQ(testing::elements<float>(result[0]), (std::vector<float>{4096, 2 * third}));
  EXPECT_EQ(values_of(result[1]), (std::vector<float>{2048, third}));
}

TEST(Widen, EmbeddingsStayNarrow) {
  Graph graph;
  Value* weight = add_parameter(graph, "weight", half({3, 2}, {1, 2, 3, 4, 5, 6}));
  Value* indices = add_user_input(graph, "indices", DType::kInt64, {2});
  Builder builder(graph, nullptr);
  add_output(graph, aten::neg(builder, aten::embedding(builder, weight, indices)));
  widen(graph);
  verify(graph);
  EXPECT_EQ(count(graph, "aten._to_copy.default"), 1);  // of the output
  const Compiled compiled(std::move(graph));
  const auto result = compiled.run({testing::tensor<std::int64_t>({2}, {2, 0})});
  EXPECT_EQ(values_of(result[0]), (std::vector<float>{-5, -6, -1, -2}));
}

TEST(Widen, LeavesWhatOnlyPassesThrough) {
  Graph graph;
  Value* x = add_user_input(graph, "x", DType::kBFloat16, {2});
  add_output(graph, x);
  widen(graph);
  EXPECT_EQ(graph.node_count(), 0u);
  EXPECT_EQ(x->dtype(), DType::kBFloat16);
}

TEST(Widen, DTypeArgumentsFollow) {
  Graph graph;
  Value* x = add_user_input(graph, "x", DType::kFloat16, {2});
  Builder builder(graph, nullptr);
  Value* zeros = aten::zeros(builder, {2}, DType::kFloat16);
  add_output(graph, aten::add(builder, x, zeros));
  widen(graph);
  verify(graph);
  EXPECT_EQ(zeros->dtype(), DType::kFloat32);
  EXPECT_EQ(zeros->producer()->argument("dtype").dtype(), DType::kFloat32);
}

}  // namespace
}  // namespace unfuse::cpu
