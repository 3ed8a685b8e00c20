#include "targets/cpu/target.h"

#include <gtest/gtest.h>

#include <string_view>

#include "compiled.h"
#include "ops/aten.h"
#include "ops/catalogue.h"
#include "targets/cpu/lowering/table.h"

namespace unfuse::cpu {
namespace {

using testing::add_user_input;
namespace aten = ops::aten;

std::string reason(const Value* value) {
  return CpuTarget().refusal(*value->producer()).value_or("");
}

TEST(CpuTarget, TakesWhatItHas) {
  Graph graph;
  Builder builder(graph, nullptr);
  Value* x = add_user_input(graph, "x", DType::kFloat32, {2, 2});
  EXPECT_EQ(reason(aten::matmul(builder, x, x)), "");
  Value* half = add_user_input(graph, "half", DType::kFloat16, {2, 2});
  EXPECT_EQ(reason(aten::matmul(builder, half, half)), "");
  Value* wide = add_user_input(graph, "wide", DType::kFloat64, {2, 2});
  EXPECT_EQ(reason(aten::add(builder, wide, wide)), "");
}

TEST(CpuTarget, SaysWhyNot) {
  Graph graph;
  Builder builder(graph, nullptr);
  Value* wide = add_user_input(graph, "wide", DType::kFloat64, {2, 2});
  EXPECT_EQ(reason(aten::matmul(builder, wide, wide)), "float64 is not supported by this op");

  Value* complex = add_user_input(graph, "complex", DType::kComplex64, {2, 2});
  EXPECT_EQ(reason(aten::neg(builder, complex)), "complex64 is not supported by the CPU target");

  Value* data_dependent = add_user_input(graph, "u", DType::kFloat32, {Dim::symbol("u0")});
  EXPECT_EQ(reason(aten::neg(builder, data_dependent)), "its sizes depend on data");

  TensorType elsewhere = TensorType::contiguous(DType::kFloat32, {2});
  elsewhere.device = "cuda:0";
  Value* far = graph.add_input("far", elsewhere, {});
  EXPECT_EQ(reason(aten::neg(builder, far)), "it runs on device cuda:0");

  Value* x = add_user_input(graph, "x", DType::kFloat32, {2});
  const Op& opaque = graph.opaque_op("custom.op.default", parse_schema("(Tensor self) -> Tensor"));
  EXPECT_EQ(reason(graph.create_node(opaque, {x}, {x->type()})->result()),
            "the CPU target has no custom.op.default");
}

TEST(CpuTarget, EveryRowIsAnOpOfTheCatalogueOnce) {
  ASSERT_GT(lowering_rows().size(), 200u);
  std::string_view previous;
  for (const LoweringRow& row : lowering_rows()) {
    EXPECT_LT(previous, std::string_view(row.op));
    previous = row.op;
    ASSERT_NE(ops::find(row.op), nullptr) << row.op;
    const LoweringRow* found = find_lowering(ops::get(row.op).id);
    ASSERT_NE(found, nullptr);
    EXPECT_STREQ(found->op, row.op);
    EXPECT_FALSE(ops::get(row.op).schema.mutates()) << row.op;
  }
  EXPECT_EQ(find_lowering(kOpaqueOp), nullptr);
}

}  // namespace
}  // namespace unfuse::cpu
