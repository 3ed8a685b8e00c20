#include "ir/builder.h"

#include <gtest/gtest.h>

#include "ir/verify.h"
#include "ops/aten.h"
#include "ops/catalogue.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

namespace aten = ops::aten;

class BuilderTest : public testing::Test {
 protected:
  Value* input(std::vector<Dim> sizes, DType dtype = DType::kFloat32) {
    return graph_.add_input("x", TensorType::contiguous(dtype, std::move(sizes)), GraphInput{});
  }
  std::string type_of(const Value* value) { return to_string(value->type()); }
  /// The message of the Error that `call` throws.
  template <typename Call>
  std::string refusal(ErrorKind kind, Call call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
  void TearDown() override { verify(graph_); }

  Graph graph_;
  Builder b_{graph_, nullptr};
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(BuilderTest, FillsDefaultsIn) {
  Value* x = input({2, 3});
  Node* node = b_.node(ops::get("aten.add.Tensor"), {x, x});
  ASSERT_EQ(node->arguments().size(), 3u);
  EXPECT_EQ(node->argument("alpha"), Argument(1));
}

TEST_F(BuilderTest, TakesKeywords) {
  Value* x = input({2, 3});
  const Op& sum = ops::get("aten.sum.dim_IntList");
  Value* result = b_.call(sum, {x}, {{"keepdim", true}, {"dim", 1}});
  EXPECT_EQ(type_of(result), "f32[2, 1]");
  EXPECT_EQ(result->producer()->argument("dim"), Argument::ints({1}));
}

TEST_F(BuilderTest, RefusesArgumentsThatDoNotFit) {
  Value* x = input({2, 3});
  const Op& sum = ops::get("aten.sum.dim_IntList");
  const auto kind = ErrorKind::kInvalidArgument;
  EXPECT_TRUE(contains(refusal(kind, [&] { b_.call(sum, {x}); }), "\"dim\" is missing"));
  EXPECT_TRUE(contains(refusal(kind, [&] { b_.call(sum, {x, 0}, {{"dim", 1}}); }), "given twice"));
  EXPECT_TRUE(contains(refusal(kind,
                               [&] {
                                 b_.call(sum, {x, 0}, {{"depth", 1}});
                               }),
                       "no argument \"depth\""));
  EXPECT_TRUE(contains(refusal(kind,
                               [&] {
                                 b_.call(sum, {x, 0, false, DType::kFloat32});
                               }),
                       "positional"));
  EXPECT_TRUE(contains(refusal(kind, [&] { b_.call(sum, {x, "rows"}); }), "\"dim\""));
  EXPECT_TRUE(contains(refusal(kind, [&] { b_.call(sum, {nullptr, 0}); }), "\"self\""));
}

TEST_F(BuilderTest, PutsEquivalentArgumentsRight) {
  Value* image = input({1, 3, 8, 8});
  Node* pool = b_.node(ops::get("aten.max_pool2d.default"), {image, 2, Argument::Ints{}, 1});
  EXPECT_EQ(pool->argument("kernel_size"), Argument::ints({2, 2}));
  EXPECT_EQ(pool->argument("padding"), Argument::ints({1, 1}));
  Value* x = input({2, 4});
  Value* normalized = b_.call(ops::get("aten.layer_norm.default"), {x, 4, nullptr, nullptr, 1});
  EXPECT_EQ(normalized->producer()->argument("normalized_shape"), Argument::ints({4}));
  EXPECT_EQ(normalized->producer()->argument("eps"), Argument(1.0));
}

TEST_F(BuilderTest, TakesNumbersForTensorsOfPointwiseOpsOnly) {
  Value* x = input({2, 3});
  EXPECT_EQ(type_of(b_.call(ops::get("aten.mul.Tensor"), {x, 0.5})), "f32[2, 3]");
  refusal(ErrorKind::kInvalidArgument, [&] { b_.call(ops::get("aten.matmul.default"), {x, 2}); });
  refusal(ErrorKind::kInvalidArgument, [&] { b_.call(ops::get("aten.add_.Tensor"), {2, x}); });
}

TEST_F(BuilderTest, SaysWhereARuleRefused) {
  Value* x = input({2, 3});
  Value* y = input({4, 5});
  b_.set_origin({"encoder.layers.0", "model.py:41"});
  const std::string message = refusal(ErrorKind::kInvalidArgument, [&] { aten::matmul(b_, x, y); });
  EXPECT_TRUE(contains(message, "aten.matmul.default")) << message;
  EXPECT_TRUE(contains(message, "model.py:41")) << message;
}

TEST_F(BuilderTest, RefusesOpsWithoutARule) {
  Value* x = input({2, 3});
  EXPECT_TRUE(contains(
      refusal(ErrorKind::kInternal, [&] { b_.node(ops::get("aten.nonzero.default"), {x}); }),
      "no result-type rule"));
}

TEST_F(BuilderTest, InsertsBeforeItsNodeWithItsOrigin) {
  Value* x = input({2, 3});
  Value* last = aten::relu(b_, x);
  last->producer()->set_origin({"head", "model.py:7"});
  Builder before(graph_, last->producer());
  Value* first = aten::neg(before, x);
  EXPECT_EQ(graph_.first_node(), first->producer());
  EXPECT_EQ(first->producer()->origin().module_path, "head");
}

TEST_F(BuilderTest, ReadsLikePyTorch) {
  const Dim batch = Dim::symbol("s0");
  Value* x = input({batch, 10, 16});
  Value* weight = input({48, 16});
  Value* bias = input({48});
  Value* qkv = aten::linear(b_, x, weight, bias);
  EXPECT_EQ(type_of(qkv), "f32[s0, 10, 48]");
  const auto parts = aten::chunk(b_, qkv, 3, -1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(type_of(parts[1]), "f32[s0, 10, 16] strides [480, 48, 1] offset 16");
  std::vector<Value*> heads;
  for (Value* part : parts) {
    heads.push_back(aten::transpose(b_, aten::unflatten(b_, part, -1, {2, 8}), 1, 2));
  }
  EXPECT_EQ(type_of(heads[0]), "f32[s0, 2, 10, 8] strides [480, 8, 48, 1]");
  Value* attended = aten::attention(b_, heads[0], heads[1], heads[2], {.is_causal = true});
  EXPECT_EQ(type_of(attended), "f32[s0, 2, 10, 8]");
  Value* merged = aten::flatten(b_, aten::transpose(b_, attended, 1, 2), 2);
  EXPECT_EQ(type_of(merged), "f32[s0, 10, 16]");
  Value* pooled = aten::mean(b_, merged, {1});
  EXPECT_EQ(type_of(pooled), "f32[s0, 16]");
  Value* positive = aten::gt(b_, pooled, 0);
  EXPECT_EQ(type_of(aten::where(b_, positive, pooled, 0.0)), "f32[s0, 16]");
  EXPECT_EQ(type_of(aten::all(b_, positive)), "b8[]");
  EXPECT_EQ(type_of(aten::all(b_, positive, {-1}, true)), "b8[s0, 1]");
}

TEST_F(BuilderTest, ChoosesTheOverload) {
  Value* x = input({2, 3});
  EXPECT_EQ(aten::add(b_, x, 1)->producer()->op().name, "aten.add.Scalar");
  EXPECT_EQ(aten::sub(b_, x, x, 2)->producer()->argument("alpha"), Argument(2));
  EXPECT_EQ(aten::div(b_, x, x, "floor")->producer()->op().name, "aten.div.Tensor_mode");
  EXPECT_EQ(aten::pow(b_, x, 2)->producer()->op().name, "aten.pow.Tensor_Scalar");
  EXPECT_EQ(aten::clamp(b_, x, nullptr, 1.0)->producer()->op().name, "aten.clamp.default");
  Value* mask = aten::isinf(b_, x);
  EXPECT_EQ(aten::masked_fill(b_, x, mask, 0.0)->producer()->op().name, "aten.masked_fill.Scalar");
  EXPECT_EQ(aten::to_dtype(b_, x, DType::kFloat32), x);
  EXPECT_EQ(type_of(aten::to_dtype(b_, x, DType::kFloat16)), "f16[2, 3]");
}

TEST_F(BuilderTest, AttentionChecksItsOperands) {
  Value* query = input({2, 4, 5, 8});
  Value* key = input({2, 2, 7, 8});
  Value* value = input({2, 2, 7, 6});
  EXPECT_EQ(type_of(aten::attention(b_, query, key, value)), "f32[2, 4, 5, 6]");
  Value* mask = input({5, 7}, DType::kBool);
  EXPECT_EQ(type_of(aten::attention(b_, query, key, value, {.mask = mask})), "f32[2, 4, 5, 6]");
  const auto kind = ErrorKind::kInvalidArgument;
  Value* three = input({2, 3, 7, 8});
  Value* half = input({2, 2, 7, 8}, DType::kFloat16);
  Value* integers = input({5, 7}, DType::kInt64);
  Value* wide = input({5, 8}, DType::kBool);
  refusal(kind, [&] { aten::attention(b_, query, three, three); });
  refusal(kind, [&] { aten::attention(b_, query, half, half); });
  refusal(kind, [&] { aten::attention(b_, query, key, value, {.mask = integers}); });
  refusal(kind, [&] { aten::attention(b_, query, key, value, {.mask = wide}); });
}

}  // namespace
}  // namespace unfuse
