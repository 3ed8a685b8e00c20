#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "passes/canonical.h"
#include "passes/decompose_graph.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

constexpr const char* kFusedAttention = "aten._native_multi_head_attention.default";
constexpr const char* kFusedLayer = "aten._transformer_encoder_layer_fwd.default";
const Dim kBatch = Dim::symbol("s0");
const Dim kLength = Dim::symbol("s1");

// A graph with one aten._native_multi_head_attention: E 8, H 2, sizes symbolic.
class FusedAttention : public FusedGraph {
 public:
  Value* query = input("query", {kBatch, kLength, 8});
  Value* key = query;
  Value* value = query;
  Value* qkv_weight = input("qkv_weight", {24, 8});
  Value* qkv_bias = input("qkv_bias", {24});
  Value* proj_weight = input("proj_weight", {8, 8});
  Value* proj_bias = input("proj_bias", {8});
  Value* mask = nullptr;
  Argument mask_type;
  bool need_weights = false;
  bool average = true;
  int heads = 2;
  int embed = 8;

  Node* add() {
    Type weights = tensor_type({0});
    if (need_weights) weights = tensor_type({kBatch, kLength, kLength});
    if (need_weights && !average) weights = tensor_type({kBatch, heads, kLength, kLength});
    Type out = tensor_type({query->size(0), query->size(1), proj_weight->size(0)}, query->dtype());
    Node* node = fused(kFusedAttention,
                       {query, key, value, embed, heads, qkv_weight, qkv_bias, proj_weight,
                        proj_bias, mask, need_weights, average, mask_type},
                       {out, weights});
    output(node->result(0));
    if (need_weights) output(node->result(1));
    return node;
  }

  void open() {
    add();
    decompose();
  }
};

TEST(DecomposeAttention, OfOneInputProjectsOnce) {
  FusedAttention test;
  test.open();
  EXPECT_EQ(test.count("aten.linear.default"), 2);
  EXPECT_EQ(test.count("aten.slice.Tensor"), 0);
  Node* attention = test.only("unfuse.attention");
  ASSERT_NE(attention, nullptr);
  const std::vector<Dim> heads = {kBatch, 2, kLength, 4};
  EXPECT_EQ(attention->argument("query").value()->sizes(), heads);
  EXPECT_TRUE(attention->argument("mask").is_none());
  EXPECT_FALSE(attention->argument("is_causal").boolean());
  EXPECT_FALSE(attention->argument("zero_fully_masked").boolean());
  EXPECT_EQ(test.report.opened.at(kFusedAttention), 1);
  EXPECT_TRUE(test.report.notes.empty());
}

TEST(DecomposeAttention, NodesTakeTheOriginOfWhatTheyReplace) {
  FusedAttention test;
  test.open();
  for (const Node* node : test.graph.nodes()) {
    EXPECT_EQ(node->origin().module_path, "encoder.layers.0");
  }
}

TEST(DecomposeAttention, OfTwoInputsProjectsTwice) {
  FusedAttention test;
  test.key = test.value = test.input("memory", {kBatch, kLength, 8});
  test.open();
  EXPECT_EQ(test.count("aten.linear.default"), 3);
  EXPECT_EQ(test.count("unfuse.attention"), 1);
}

TEST(DecomposeAttention, OfThreeInputsProjectsThrice) {
  FusedAttention test;
  test.value = test.input("value", {kBatch, kLength, 8});
  test.open();
  EXPECT_EQ(test.count("aten.linear.default"), 4);
}

TEST(DecomposeAttention, PaddingMaskIsTurnedRoundAndSpreadOverHeadsAndRows) {
  FusedAttention test;
  test.mask = test.input("mask", {kBatch, kLength}, DType::kBool);
  test.mask_type = 1;
  test.open();
  Node* attention = test.only("unfuse.attention");
  ASSERT_NE(attention, nullptr);
  Value* mask = attention->argument("mask").value();
  const std::vector<Dim> sizes = {kBatch, 1, 1, kLength};
  EXPECT_EQ(mask->sizes(), sizes);
  EXPECT_EQ(mask->dtype(), DType::kBool);
  EXPECT_EQ(test.count("aten.logical_not.default"), 1);
}

TEST(DecomposeAttention, SourceMaskStaysTwoDimensional) {
  FusedAttention test;
  test.mask = test.input("mask", {kLength, kLength}, DType::kBool);
  test.mask_type = 0;
  test.open();
  EXPECT_EQ(test.only("unfuse.attention")->argument("mask").value()->rank(), 2);
}

TEST(DecomposeAttention, FloatMaskOfUnknownOriginIsReadAsBoolAndNoted) {
  FusedAttention test;
  test.mask = test.input("mask", {kBatch, 2, kLength, kLength});
  test.open();
  EXPECT_EQ(test.count("aten.ne.Scalar"), 1);
  ASSERT_EQ(test.report.notes.size(), 1U);
  EXPECT_TRUE(test.report.notes[0].starts_with(
      "encoder.layers.0: aten._native_multi_head_attention.default hides a key wherever its "
      "float32 "
      "mask is not zero"))
      << test.report.notes[0];
}

TEST(DecomposeAttention, WhatIsSaidOfSeveralNodesIsOneNote) {
  FusedAttention test;
  test.mask = test.input("mask", {kBatch, 2, kLength, kLength});
  test.add();
  test.add();
  test.open();
  ASSERT_EQ(test.report.notes.size(), 1U);
  EXPECT_TRUE(test.report.notes[0].starts_with(
      "in 3 nodes, first encoder.layers.0: aten._native_multi_head_attention.default hides a key"))
      << test.report.notes[0];
}

// What nn.TransformerEncoderLayer makes of a bool padding mask: zeros with -inf filled in.
Value* canonical_mask(Graph& graph, Value* masked, double value) {
  Builder builder(graph, nullptr);
  Value* zeros = full(builder, masked->sizes(), 0.0, DType::kFloat32);
  return call(builder, "aten.masked_fill.Scalar", {zeros, masked, value});
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DecomposeAttention, SeesTheBoolMaskBehindTheFloatOneThatModulesMake) {
  FusedAttention test;
  Value* padding = test.input("padding", {kBatch, kLength}, DType::kBool);
  test.mask = canonical_mask(test.graph, padding, -kInfinity);
  test.mask_type = 1;
  test.open();
  EXPECT_TRUE(test.report.notes.empty());
  EXPECT_EQ(test.count("aten.masked_fill.Scalar"), 0);
  EXPECT_EQ(test.count("aten.ne.Scalar"), 0);
  const Value* spread = test.only("aten.logical_not.default")->input(0);
  ASSERT_TRUE(spread->produced_by("aten.reshape.default"));
  EXPECT_EQ(spread->producer()->input(0), padding);
}

TEST(DecomposeAttention, AFilledInNumberIsNoMinusInfinity) {
  FusedAttention test;
  Value* padding = test.input("padding", {kBatch, kLength}, DType::kBool);
  test.mask = canonical_mask(test.graph, padding, 3.0);
  test.mask_type = 1;
  test.open();
  EXPECT_EQ(test.count("aten.ne.Scalar"), 1);
  EXPECT_EQ(test.report.notes.size(), 1U);
}

TEST(DecomposeAttention, CausalMaskAndPaddingMergedByTheModuleComeApartAgain) {
  FusedAttention test;
  Builder builder(test.graph, nullptr);
  Value* padding = test.input("padding", {kBatch, kLength}, DType::kBool);
  Value* infinite = full(builder, {kLength, kLength}, -kInfinity, DType::kFloat32);
  Value* causal = call(builder, "aten.triu.default", {infinite, 1});
  causal = reshape(builder, causal, {1, 1, kLength, kLength});
  causal = expand(builder, causal, {kBatch, 2, kLength, kLength});
  Value* padded = canonical_mask(test.graph, padding, -kInfinity);
  padded = reshape(builder, padded, {kBatch, 1, 1, kLength});
  padded = expand(builder, padded, {kBatch, 2, 1, kLength});
  test.mask = call(builder, "aten.add.Tensor", {causal, padded});
  test.mask_type = 2;
  test.open();
  Node* attention = test.only("unfuse.attention");
  ASSERT_NE(attention, nullptr) << print(test.graph);
  EXPECT_TRUE(attention->argument("is_causal").boolean()) << print(test.graph);
  const std::vector<Dim> sizes = {kBatch, 2, 1, kLength};
  EXPECT_EQ(attention->argument("mask").value()->sizes(), sizes);
  EXPECT_EQ(test.count("aten.add.Tensor"), 0);
}

TEST(DecomposeAttention, WeightsAreSpelledOut) {
  FusedAttention test;
  test.need_weights = true;
  test.mask = test.input("mask", {kBatch, kLength}, DType::kBool);
  test.mask_type = 1;
  test.open();
  EXPECT_EQ(test.count("unfuse.attention"), 0);
  EXPECT_EQ(test.count("aten.matmul.default"), 2);
  EXPECT_EQ(test.count("aten.softmax.int"), 1);
  EXPECT_EQ(test.count("aten.sum.dim_IntList"), 1);
  EXPECT_EQ(test.only("aten.mul.Scalar")->argument(1).number(), 1 / std::sqrt(4.0));
}

TEST(DecomposeAttention, WeightsOfEachHeadAreNotAveraged) {
  FusedAttention test;
  test.need_weights = true;
  test.average = false;
  test.open();
  EXPECT_EQ(test.count("aten.sum.dim_IntList"), 0);
}

TEST(DecomposeAttention, ZerosForFullyMaskedRowsOnDemand) {
  for (const bool need_weights : {false, true}) {
    FusedAttention test;
    test.options.fully_masked_rows = FullyMaskedRows::kZero;
    test.need_weights = need_weights;
    test.open();
    EXPECT_EQ(test.count("aten._safe_softmax.default"), need_weights ? 1 : 0);
    if (need_weights) continue;
    EXPECT_TRUE(test.only("unfuse.attention")->argument("zero_fully_masked").boolean());
  }
}

TEST(DecomposeAttention, WithoutWeightsTheSecondOutputIsNone) {
  FusedAttention test;
  test.output(test.add()->result(1));
  test.decompose();
  EXPECT_TRUE(test.graph.outputs()[1].value.is_none());
}

TEST(DecomposeAttention, ANodeThatUsesTheMissingResultIsAnError) {
  FusedAttention test;
  Node* node = test.add();
  Builder builder(test.graph, nullptr);
  test.output(call(builder, "aten.relu.default", {node->result(1)}));
  EXPECT_THROW(test.decompose(), Error);
}

TEST(DecomposeAttention, EmptyInputIsHandedThroughAndWeightsAreNone) {
  FusedAttention test;
  test.query = test.key = test.value = test.input("empty", {0, 3, 8});
  test.need_weights = true;
  test.open();
  EXPECT_EQ(test.count("aten.linear.default"), 0);
  EXPECT_NE(test.only("aten.clone.default"), nullptr) << print(test.graph);
  EXPECT_TRUE(test.graph.outputs()[1].value.is_none());
}

TEST(DecomposeAttention, OutputProjectionMayChangeTheWidthAndItsBiasBroadcasts) {
  FusedAttention test;
  test.proj_weight = test.input("narrow", {5, 8});
  test.proj_bias = test.input("one", {1});
  test.open();
  EXPECT_EQ(test.graph.outputs()[0].value.value()->size(-1), Dim(5));
}

struct Refusal {
  const char* message;
  void (*change)(FusedAttention& test);
};

class DecomposeAttentionRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(DecomposeAttentionRefuses, WhatTheOpRefuses) {
  FusedAttention test;
  GetParam().change(test);
  test.add();
  try {
    test.decompose();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(error.message().find(GetParam().message), std::string::npos) << error.what();
    EXPECT_NE(error.where().find("model.py:7"), std::string::npos) << error.what();
  }
}

void use_mask(FusedAttention& test, std::vector<Dim> sizes, Argument type) {
  test.mask = test.input("mask", std::move(sizes), DType::kBool);
  test.mask_type = std::move(type);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, DecomposeAttentionRefuses,
    testing::Values(
        Refusal{"divide evenly", [](auto& test) { test.heads = 3; }},
        Refusal{"divide evenly", [](auto& test) { test.heads = 0; }},
        Refusal{"divide evenly", [](auto& test) { test.heads = -2; }},
        Refusal{"query is", [](auto& test) { test.embed = 4; }},
        Refusal{"three dimensions",
                [](auto& test) {
                  test.query = test.input("q", {3, 8});
                }},
        Refusal{"key is",
                [](auto& test) {
                  test.key = test.input("k", {kBatch, kLength, 4});
                }},
        Refusal{"qkv_weight is",
                [](auto& test) {
                  test.qkv_weight = test.input("w", {16, 8});
                }},
        Refusal{"qkv_bias is", [](auto& test) { test.qkv_bias = test.input("b", {8}); }},
        Refusal{"proj_weight is",
                [](auto& test) {
                  test.proj_weight = test.input("p", {8, 5});
                }},
        Refusal{"proj_bias is", [](auto& test) { test.proj_bias = test.input("p", {7}); }},
        Refusal{"one dtype",
                [](auto& test) { test.qkv_bias = test.input("b", {24}, DType::kFloat16); }},
        Refusal{"needs a mask_type",
                [](auto& test) {
                  use_mask(test, {3, 3}, nullptr);
                }},
        Refusal{"0, 1 or 2",
                [](auto& test) {
                  use_mask(test, {3, 3}, 3);
                }},
        Refusal{"mask is",
                [](auto& test) {
                  use_mask(test, {3, 3}, 2);
                }},
        Refusal{"mask is",
                [](auto& test) {
                  use_mask(test, {kBatch, 1, kLength, kLength}, 1);
                }},
        Refusal{"mask is", [](auto& test) { use_mask(test, {kLength}, 1); }}));

// A graph with one aten._transformer_encoder_layer_fwd: E 8, H 2, feed-forward 16.
class FusedLayer : public FusedGraph {
 public:
  Value* source = input("source", {kBatch, kLength, 8});
  bool gelu = false;
  bool norm_first = false;
  Value* mask = nullptr;
  Argument mask_type;
  std::vector<Dim> hidden = {16, 8};
  std::vector<Dim> back = {8, 16};

  void open() {
    const auto weight = [&](const char* name, std::vector<Dim> sizes) {
      return input(name, std::move(sizes));
    };
    Node* node = fused(kFusedLayer,
                       {source,
                        8,
                        2,
                        weight("qkv_weight", {24, 8}),
                        weight("qkv_bias", {24}),
                        weight("proj_weight", {8, 8}),
                        weight("proj_bias", {8}),
                        gelu,
                        norm_first,
                        1e-6,
                        weight("n1", {8}),
                        weight("nb1", {8}),
                        weight("n2", {8}),
                        weight("nb2", {8}),
                        weight("w1", hidden),
                        weight("b1", {hidden[0]}),
                        weight("w2", back),
                        weight("b2", {back[0]}),
                        mask,
                        mask_type},
                       {source->type()});
    output(node->result());
    decompose();
  }
};

TEST(DecomposeEncoderLayer, IsAttentionFeedForwardAndTwoNorms) {
  FusedLayer test;
  test.open();
  EXPECT_EQ(test.count("unfuse.attention"), 1);
  EXPECT_EQ(test.count("aten.linear.default"), 4);
  EXPECT_EQ(test.count("aten.layer_norm.default"), 2);
  EXPECT_EQ(test.count("aten.add.Tensor"), 2);
  EXPECT_EQ(test.count("aten.relu.default"), 1);
  EXPECT_TRUE(test.graph.outputs()[0].value.value()->produced_by("aten.layer_norm.default"));
  EXPECT_EQ(test.graph.last_node()->argument("eps").number(), 1e-6);
  EXPECT_EQ(test.report.opened.at(kFusedLayer), 1);
  EXPECT_EQ(test.report.opened.size(), 1U);
}

TEST(DecomposeEncoderLayer, NormFirstEndsWithAResidual) {
  FusedLayer test;
  test.norm_first = test.gelu = true;
  test.open();
  EXPECT_TRUE(test.graph.outputs()[0].value.value()->produced_by("aten.add.Tensor"));
  ASSERT_EQ(test.count("aten.gelu.default"), 1);
  EXPECT_EQ(test.only("aten.gelu.default")->argument("approximate").string(), "none");
}

TEST(DecomposeEncoderLayer, TakesAMask) {
  FusedLayer test;
  test.mask = test.input("mask", {kBatch, kLength}, DType::kBool);
  test.mask_type = 1;
  test.open();
  EXPECT_FALSE(test.only("unfuse.attention")->argument("mask").is_none());
}

TEST(DecomposeEncoderLayer, HandsAnEmptyInputThrough) {
  FusedLayer test;
  test.source = test.input("empty", {kBatch, 0, 8});
  test.open();
  EXPECT_EQ(test.graph.node_count(), 1U);
}

TEST(DecomposeEncoderLayer, RefusesAFeedForwardOfAnotherWidth) {
  FusedLayer test;
  test.back = {1, 16};
  EXPECT_THROW(test.open(), Error);
}

}  // namespace
}  // namespace unfuse::passes
