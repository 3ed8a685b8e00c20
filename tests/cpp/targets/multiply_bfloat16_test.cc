#include <gtest/gtest.h>

#include "compiled.h"
#include "ir/verify.h"
#include "ops/aten.h"
#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/kernels/gemm.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

using testing::add_output;
using testing::add_parameter;
using testing::add_user_input;
namespace aten = ops::aten;

struct Layer {
  Graph graph;
  Value* result = nullptr;

  explicit Layer(DType dtype, bool weight_is_constant = true) {
    Value* x = add_user_input(graph, "x", dtype, {4, 8});
    Value* weight = weight_is_constant
                        ? add_parameter(graph, "weight", Tensor::empty(dtype, {6, 8}))
                        : add_user_input(graph, "weight", dtype, {6, 8});
    Builder builder(graph, nullptr);
    add_output(graph, aten::linear(builder, x, weight, nullptr));
  }

  /// What the layer multiplies; "" where nothing says so.
  std::string products(Arithmetic arithmetic) {
    multiply_bfloat16(graph, arithmetic);
    verify(graph);
    const Node* node = graph.outputs()[0].value.value()->producer();
    return node->is("unfuse.linear") ? node->argument("products").string() : "";
  }
};

TEST(MultiplyBFloat16, LayersWithConstantWeights) {
  if (!has_products(Products::kBFloat16)) {
    EXPECT_THROW(Layer(DType::kBFloat16).products(Arithmetic::kBFloat16), Error);
    return;
  }
  EXPECT_EQ(Layer(DType::kBFloat16).products(Arithmetic::kBFloat16), "bfloat16");
  EXPECT_EQ(Layer(DType::kBFloat16, false).products(Arithmetic::kBFloat16), "");
}

TEST(MultiplyBFloat16, NotWhereFloat32IsAskedFor) {
  EXPECT_EQ(Layer(DType::kBFloat16).products(Arithmetic::kFloat32), "");
}

TEST(MultiplyBFloat16, Float16IsSplitWhereThereAreTiles) {
  const char* split = has_products(Products::kSplitTiles) ? "split" : "";
  EXPECT_EQ(Layer(DType::kFloat16).products(Arithmetic::kFastest), split);
  EXPECT_EQ(Layer(DType::kFloat16).products(Arithmetic::kFloat32), "");
}

TEST(MultiplyBFloat16, NotOtherDTypes) {
  EXPECT_EQ(Layer(DType::kFloat16).products(Arithmetic::kBFloat16), "");
  EXPECT_EQ(Layer(DType::kFloat32).products(Arithmetic::kBFloat16), "");
}

}  // namespace
}  // namespace unfuse::cpu
