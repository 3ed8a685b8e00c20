#include <gtest/gtest.h>

#include <limits>

#include "passes/canonical.h"
#include "passes/decompose/attention_to_aten.h"
#include "passes/decompose_graph.h"
#include "passes/recognize_attention.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kSdpa = "aten.scaled_dot_product_attention.default";
constexpr const char* kFlash = "aten._scaled_dot_product_flash_attention_for_cpu.default";
constexpr const char* kMath = "aten._scaled_dot_product_attention_math.default";

using Sizes = std::vector<Dim>;

class Sdpa : public FusedGraph {
 public:
  Value* query = input("query", {2, 6, 3, 8});
  Value* key = input("key", {2, 6, 4, 8});
  Value* value = input("value", {2, 6, 4, 8});
  Sizes result = {2, 6, 3, 8};

  Node* add(const std::vector<KeywordArgument>& keywords = {}, Value* mask = nullptr,
            double dropout = 0, bool is_causal = false) {
    Node* node = fused(kSdpa, {query, key, value, mask, dropout, is_causal}, {tensor_type(result)},
                       keywords);
    output(node->result());
    return node;
  }

  /// Opens it, and returns the attention.
  Node* open(const std::vector<KeywordArgument>& keywords = {}, Value* mask = nullptr,
             bool is_causal = false) {
    add(keywords, mask, 0, is_causal);
    decompose();
    return only("unfuse.attention");
  }
};

TEST(DecomposeSdpa, IsAttentionWithZerosForFullyMaskedRows) {
  Sdpa test;
  Node* attention = test.open({{"scale", 0.25}}, test.input("mask", {3, 4}), true);
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(test.graph.node_count(), 1U);
  EXPECT_EQ(attention->argument("scale").number(), 0.25);
  EXPECT_TRUE(attention->argument("is_causal").boolean());
  EXPECT_TRUE(attention->argument("zero_fully_masked").boolean());
  EXPECT_EQ(attention->argument("mask").value()->dtype(), DType::kFloat32);
  EXPECT_EQ(test.report.opened.at(kSdpa), 1);
}

TEST(DecomposeSdpa, GroupedHeadsStayGrouped) {
  Sdpa test;
  test.key = test.input("k", {2, 2, 4, 8});
  test.value = test.input("v", {2, 2, 4, 8});
  Node* attention = test.open({{"enable_gqa", true}});
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->argument("key").value(), test.key);
}

TEST(DecomposeSdpa, KeysAndValuesWithDifferentHeadsAreRepeated) {
  Sdpa test;
  test.key = test.input("k", {2, 2, 4, 8});
  test.value = test.input("v", {2, 3, 4, 8});
  Node* attention = test.open({{"enable_gqa", true}});
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->argument("key").value()->sizes(), (Sizes{2, 6, 4, 8}));
  EXPECT_EQ(attention->argument("value").value()->sizes(), (Sizes{2, 6, 4, 8}));
}

TEST(DecomposeSdpa, BatchesAndSingleHeadsBroadcast) {
  Sdpa test;
  test.query = test.input("q", {2, 1, 3, 8});
  test.key = test.input("k", {6, 4, 8});
  test.value = test.input("v", {1, 6, 4, 8});
  Node* attention = test.open();
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->argument("query").value()->sizes(), (Sizes{2, 6, 3, 8}));
  EXPECT_EQ(attention->argument("key").value()->sizes(), (Sizes{2, 6, 4, 8}));
  EXPECT_EQ(attention->argument("value").value()->sizes(), (Sizes{2, 6, 4, 8}));
}

TEST(DecomposeSdpa, OfOneHead) {
  Sdpa test;
  test.query = test.input("q", {3, 8});
  test.key = test.input("k", {4, 8});
  test.value = test.input("v", {4, 5});
  test.result = {3, 5};
  EXPECT_NE(test.open(), nullptr);
}

TEST(DecomposeSdpa, DropoutStaysAndIsNoted) {
  Sdpa test;
  test.add({}, nullptr, 0.1);
  test.decompose();
  EXPECT_EQ(test.count(kSdpa), 1);
  ASSERT_EQ(test.report.notes.size(), 1U);
  EXPECT_NE(test.report.notes[0].find("dropout_p is 0.1"), std::string::npos);
}

TEST(DecomposeSdpa, RefusesWhatTheOpRefuses) {
  const auto refused = [](auto change, const std::vector<KeywordArgument>& keywords = {}) {
    Sdpa test;
    change(test);
    EXPECT_THROW(test.open(keywords), Error);
  };
  refused([](Sdpa& test) { test.key = test.input("k", {2, 2, 4, 8}); });
  refused([](Sdpa& test) { test.key = test.input("k", {2, 4, 4, 8}); }, {{"enable_gqa", true}});
  refused([](Sdpa& test) { test.key = test.input("k", {2, 6, 4, 7}); });
  refused([](Sdpa& test) { test.key = test.input("k", {2, 6, 5, 8}); });
  refused([](Sdpa& test) { test.key = test.input("k", {2, 6, 4, 8}, DType::kFloat16); });
  refused([](Sdpa& test) { test.key = test.input("k", {8}); });
  for (const Sizes& sizes : {Sizes{4}, Sizes{}}) {
    Sdpa test;
    EXPECT_THROW(test.open({}, test.input("mask", sizes, DType::kBool)), Error);
  }
  Sdpa test;
  EXPECT_THROW(test.open({}, test.input("mask", {3, 4}, DType::kInt64)), Error);
}

TEST(DecomposeSdpa, FloatMaskMadeOfABoolOneBecomesThatOne) {
  Sdpa test;
  Value* attended = test.input("attended", {2, 1, 1, 4}, DType::kBool);
  Builder builder(test.graph, nullptr);
  Value* zero = full(builder, {}, 0.0, DType::kFloat32);
  Value* infinite = full(builder, {}, -kInfinity, DType::kFloat32);
  Value* mask = call(builder, "aten.where.self", {attended, zero, infinite});
  Node* attention = test.open({}, mask);
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->argument("mask").value(), attended) << print(test.graph);
}

TEST(DecomposeSdpa, CausalMasksBecomeTheFlag) {
  for (const bool lower : {true, false}) {
    Sdpa test;
    Builder builder(test.graph, nullptr);
    Value* ones = full(builder, {3, 4}, true, DType::kBool);
    Value* mask = lower ? call(builder, "aten.tril.default", {ones})
                        : call(builder, "aten.logical_not.default",
                               {call(builder, "aten.triu.default", {ones, 1})});
    Node* attention = test.open({}, mask);
    ASSERT_NE(attention, nullptr);
    EXPECT_TRUE(attention->argument("is_causal").boolean());
    EXPECT_TRUE(attention->argument("mask").is_none());
    EXPECT_EQ(test.graph.node_count(), 1U);
  }
}

TEST(DecomposeSdpa, OtherTrianglesStayMasks) {
  Sdpa test;
  Builder builder(test.graph, nullptr);
  Value* ones = full(builder, {3, 4}, true, DType::kBool);
  Node* attention = test.open({}, call(builder, "aten.tril.default", {ones, 1}));
  ASSERT_NE(attention, nullptr);
  EXPECT_FALSE(attention->argument("is_causal").boolean());
}

class Flash : public FusedGraph {
 public:
  Node* add(Value* mask = nullptr, bool is_causal = false) {
    Node* node = fused(kFlash,
                       {input("query", {2, 6, 3, 8}), input("key", {2, 2, 4, 8}),
                        input("value", {2, 2, 4, 8}), 0.0, is_causal},
                       {tensor_type({2, 6, 3, 8}), tensor_type({2, 6, 3})}, {{"attn_mask", mask}});
    output(node->result(0));
    return node;
  }
};

TEST(DecomposeFlash, GroupsHeadsUnasked) {
  Flash test;
  test.add(test.input("mask", {3, 4}), true);
  test.decompose();
  EXPECT_EQ(test.graph.node_count(), 1U);
  EXPECT_NE(test.only("unfuse.attention"), nullptr);
  EXPECT_EQ(test.report.opened.at(kFlash), 1);
}

TEST(DecomposeFlash, LogSumExpIsSpelledOutWhereItIsUsed) {
  Flash test;
  test.output(test.add(nullptr, true)->result(1));
  test.decompose();
  EXPECT_EQ(test.count("unfuse.attention"), 1);
  EXPECT_EQ(test.count("aten.matmul.default"), 1);
  EXPECT_EQ(test.graph.outputs()[1].value.value()->sizes(), (Sizes{2, 6, 3}));
}

TEST(DecomposeFlash, RefusesBoolMasksAsTheOpDoes) {
  Flash test;
  test.add(test.input("mask", {3, 4}, DType::kBool));
  EXPECT_THROW(test.decompose(), Error);
}

TEST(DecomposeMath, WeightsAreSpelledOutWhereTheyAreUsed) {
  FusedGraph test;
  Node* node = test.fused(kMath,
                          {test.input("query", {6, 3, 8}), test.input("key", {6, 4, 8}),
                           test.input("value", {6, 4, 8})},
                          {tensor_type({6, 3, 8}), tensor_type({6, 3, 4})});
  test.output(node->result(0));
  test.output(node->result(1));
  test.decompose();
  EXPECT_EQ(test.count("unfuse.attention"), 1);
  EXPECT_EQ(test.count("aten._safe_softmax.default"), 1);
}

TEST(DecomposeMath, BoolMasksAreAddedAsNumbers) {
  FusedGraph test;
  Value* mask = test.input("mask", {3, 4}, DType::kBool);
  Node* node = test.fused(kMath,
                          {test.input("query", {6, 3, 8}), test.input("key", {6, 4, 8}),
                           test.input("value", {6, 4, 8}), mask},
                          {tensor_type({6, 3, 8}), tensor_type({6, 3, 4})});
  test.output(node->result(0));
  test.decompose();
  EXPECT_EQ(test.only("unfuse.attention")->argument("mask").value()->dtype(), DType::kFloat32);
}

// The forms of SDPA on GPUs: arguments behind query, key and value, and the results.
struct GpuForm {
  const char* op;
  Arguments (*arguments)(Value* bias, bool is_causal);
  int results;
  bool takes_bias;
};

const GpuForm kGpuForms[] = {
    {"aten._scaled_dot_product_flash_attention.default",
     [](Value*, bool causal) {
       return Arguments{0.0, causal, false};
     },
     9, false},
    {"aten._scaled_dot_product_efficient_attention.default",
     [](Value* bias, bool causal) {
       return Arguments{bias, false, 0.0, causal};
     },
     4, true},
    {"aten._scaled_dot_product_cudnn_attention.default",
     [](Value* bias, bool causal) {
       return Arguments{bias, false, 0.0, causal, false};
     },
     9, true},
    {"aten._scaled_dot_product_fused_attention_overrideable.default",
     [](Value* bias, bool causal) {
       return Arguments{bias, 0.0, causal, false};
     },
     9, true},
};

class DecomposeGpuAttention : public testing::TestWithParam<GpuForm> {
 protected:
  Node* add(FusedGraph& test, Dim keys, bool with_bias, bool is_causal) {
    const GpuForm& form = GetParam();
    Arguments arguments = {test.input("query", {2, 6, 4, 8}), test.input("key", {2, 6, keys, 8}),
                           test.input("value", {2, 6, keys, 8})};
    Value* bias = with_bias ? test.input("bias", {2, 6, 4, keys}) : nullptr;
    for (Argument& more : form.arguments(bias, is_causal)) arguments.push_back(std::move(more));
    std::vector<Type> types(static_cast<std::size_t>(form.results), OpaqueType{"gpu"});
    types[0] = tensor_type({2, 6, 4, 8});
    Node* node = test.fused(form.op, std::move(arguments), std::move(types));
    test.output(node->result(0));
    return node;
  }
};

TEST_P(DecomposeGpuAttention, IsAttention) {
  FusedGraph test;
  add(test, 4, GetParam().takes_bias, true);
  test.decompose();
  Node* attention = test.only("unfuse.attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->argument("mask").is_none(), !GetParam().takes_bias);
  EXPECT_TRUE(attention->argument("is_causal").boolean());
}

TEST_P(DecomposeGpuAttention, StaysWhereTheBackwardPassIsServed) {
  FusedGraph test;
  test.output(add(test, 4, false, false)->result(1));
  test.decompose();
  EXPECT_EQ(test.count(GetParam().op), 1);
  EXPECT_EQ(test.report.notes.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Forms, DecomposeGpuAttention, testing::ValuesIn(kGpuForms));

TEST(DecomposeGpuFlash, StaysWhereItsCausalMaskIsAlignedOtherwise) {
  FusedGraph test;
  Node* node = test.fused(kGpuForms[0].op,
                          {test.input("query", {2, 6, 4, 8}), test.input("key", {2, 6, 5, 8}),
                           test.input("value", {2, 6, 5, 8}), 0.0, true},
                          std::vector<Type>(9, tensor_type({2, 6, 4, 8})));
  test.output(node->result(0));
  test.decompose();
  EXPECT_EQ(test.count("unfuse.attention"), 0);
}

// --- Attention spelled out, in the canonical dialect.

class Spelled : public FusedGraph {
 public:
  Builder builder{graph, nullptr};
  Value* query = input("query", {6, 3, 8});
  Value* key = input("key", {6, 4, 8});
  Value* value = input("value", {6, 4, 5});

  Value* scaled(Value* x, double by) { return call(builder, "aten.mul.Scalar", {x, by}); }
  Value* product(Value* left, Value* right) {
    return call(builder, "aten.matmul.default", {left, right});
  }
  Value* transposed(Value* x) { return transpose(builder, x, -2, -1); }
  Value* softmax(Value* x, bool safe) {
    return call(builder, safe ? "aten._safe_softmax.default" : "aten.softmax.int", {x, 2});
  }

  Node* recognize(AttentionSpelling spelling = AttentionSpelling::kSafeSoftmax) {
    recognize_attention(graph, spelling, options);
    eliminate_dead_code(graph);
    verify(graph, "recognize_attention");
    return only("unfuse.attention");
  }
};

TEST(RecognizeAttention, OfTheMathExpansion) {
  Spelled test;
  Value* scores =
      test.product(test.scaled(test.query, 0.5), test.scaled(test.transposed(test.key), 0.5));
  Value* mask = test.input("mask", {3, 4});
  scores = call(test.builder, "aten.add.Tensor", {scores, mask});
  test.output(test.product(test.softmax(scores, true), test.value));
  Node* attention = test.recognize();
  ASSERT_NE(attention, nullptr) << print(test.graph);
  EXPECT_EQ(test.graph.node_count(), 1U) << print(test.graph);
  EXPECT_EQ(attention->argument("query").value(), test.query);
  EXPECT_EQ(attention->argument("key").value(), test.key);
  EXPECT_EQ(attention->argument("mask").value(), mask);
  EXPECT_EQ(attention->argument("scale").number(), 0.25);
  EXPECT_TRUE(attention->argument("zero_fully_masked").boolean());
}

TEST(RecognizeAttention, WrittenByHandOnlyWhenAskedFor) {
  for (const bool asked : {false, true}) {
    Spelled test;
    Value* scores = test.product(test.query, test.transposed(test.key));
    scores = call(test.builder, "aten.div.Scalar", {scores, 4.0});
    Value* masked = test.input("masked", {3, 4}, DType::kBool);
    scores = call(test.builder, "aten.masked_fill.Scalar", {scores, masked, -kInfinity});
    test.output(test.product(test.softmax(scores, false), test.value));
    Node* attention =
        test.recognize(asked ? AttentionSpelling::kAnySoftmax : AttentionSpelling::kSafeSoftmax);
    EXPECT_EQ(attention != nullptr, asked);
    if (attention == nullptr) continue;
    EXPECT_EQ(attention->argument("scale").number(), 0.25);
    EXPECT_FALSE(attention->argument("zero_fully_masked").boolean());
    EXPECT_EQ(attention->argument("mask").value()->dtype(), DType::kBool);
  }
}

TEST(RecognizeAttention, NotWhereTheWeightsAreReadToo) {
  Spelled test;
  Value* weights = test.softmax(test.product(test.query, test.transposed(test.key)), true);
  test.output(test.product(weights, test.value));
  test.output(weights);
  EXPECT_EQ(test.recognize(), nullptr);
}

TEST(RecognizeAttention, NotOverAnotherDimension) {
  Spelled test;
  Value* scores = test.product(test.query, test.transposed(test.key));
  Value* weights = call(test.builder, "aten._safe_softmax.default", {scores, 1});
  test.output(test.product(weights, test.value));
  EXPECT_EQ(test.recognize(), nullptr);
}

TEST(RecognizeAttention, NotInFloat64) {
  FusedGraph test;
  Builder builder(test.graph, nullptr);
  Value* x = test.input("x", {6, 3, 8}, DType::kFloat64);
  Value* scores = call(builder, "aten.matmul.default", {x, transpose(builder, x, -2, -1)});
  Value* weights = call(builder, "aten._safe_softmax.default", {scores, 2});
  test.output(call(builder, "aten.matmul.default", {weights, x}));
  recognize_attention(test.graph, AttentionSpelling::kAnySoftmax, test.options);
  EXPECT_EQ(test.count("unfuse.attention"), 0);
}

// --- Written back.

class WrittenBack : public FusedGraph {
 public:
  Value* query = input("query", {2, 6, 3, 8});
  Value* key = input("key", {2, 2, 4, 8});
  Value* value = input("value", {2, 2, 4, 8});

  void write_back(Value* mask, bool is_causal, bool zero_fully_masked) {
    Builder builder(graph, nullptr);
    output(call(builder, "unfuse.attention", {query, key, value, mask},
                {{"is_causal", is_causal}, {"zero_fully_masked", zero_fully_masked}}));
    write_back_attention(graph);
    verify(graph, "write_back_attention");
    EXPECT_EQ(count("unfuse.attention"), 0);
  }
};

TEST(WriteBackAttention, IsSdpaWhereThatSaysTheSame) {
  for (const bool zero : {false, true}) {
    WrittenBack test;
    test.write_back(nullptr, true, zero);
    EXPECT_EQ(test.graph.node_count(), 1U);
    Node* sdpa = test.only(kSdpa);
    ASSERT_NE(sdpa, nullptr);
    EXPECT_TRUE(sdpa->argument("enable_gqa").boolean());
    EXPECT_TRUE(sdpa->argument("is_causal").boolean());
  }
}

TEST(WriteBackAttention, MergesTheCausalFlagIntoTheMask) {
  WrittenBack test;
  test.write_back(test.input("mask", {4}, DType::kBool), true, true);
  Node* sdpa = test.only(kSdpa);
  ASSERT_NE(sdpa, nullptr);
  EXPECT_FALSE(sdpa->argument("is_causal").boolean());
  EXPECT_EQ(sdpa->argument("attn_mask").value()->sizes(), (Sizes{3, 4}));
}

TEST(WriteBackAttention, PutsNanIntoRowsWithoutKeys) {
  WrittenBack test;
  test.write_back(test.input("mask", {2, 1, 1, 4}, DType::kBool), false, false);
  EXPECT_NE(test.only(kSdpa), nullptr);
  EXPECT_EQ(test.count("aten.where.ScalarOther"), 1);
}

TEST(WriteBackAttention, SpellsFloatMasksOutWhereRowsMayBeNan) {
  WrittenBack test;
  test.write_back(test.input("mask", {3, 4}), false, false);
  EXPECT_EQ(test.count("aten.softmax.int"), 1);
  EXPECT_EQ(test.count("aten.matmul.default"), 2);
}

}  // namespace
}  // namespace unfuse::passes
