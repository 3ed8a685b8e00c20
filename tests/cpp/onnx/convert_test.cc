#include "onnx/convert.h"

#include <gtest/gtest.h>

#include <string>

#include "passes/pipeline.h"
#include "support/graph_parser.h"
#include "unfuse/error.h"

namespace unfuse::onnx {
namespace {

Model convert_text(std::string_view text, int opset = 20) {
  Graph graph = testing::parse_graph(text);
  const std::vector<std::string> names = output_names(graph);
  Report report;
  passes::run_pipeline(graph, {}, report);
  return convert(graph, opset, names, "model.pt2");
}

/// "y = Relu(x)", a node a line.
std::string nodes_of(const Model& model) {
  std::string text;
  for (const ModelNode& node : model.nodes) {
    for (const std::string& name : node.outputs)
      text += (&name == &node.outputs[0] ? "" : ", ") + name;
    text += " = " + node.op + "(";
    for (const std::string& name : node.inputs)
      text += (&name == &node.inputs[0] ? "" : ", ") + name;
    text += ")\n";
  }
  return text;
}

std::string names_of(const std::vector<ValueInfo>& values) {
  std::string text;
  for (const ValueInfo& value : values) {
    text += value.name + " " + std::string(dtype_name(value.dtype)) + "[";
    for (const Dim& size : value.sizes) {
      text += (&size == &value.sizes[0] ? "" : ", ") + size.to_string();
    }
    text += "]\n";
  }
  return text;
}

TEST(Convert, InputsAndOutputsHaveTheNamesThatCallersKnow) {
  const Model model = convert_text(R"(
    symbol s0 in [1, 64]
    input user %x: f32[s0, 4] from first
    %y = aten.relu.default(%x)
    output user %y
    output user %x
    output user %y
    output user None
  )");
  EXPECT_EQ(names_of(model.inputs), "first float32[s0, 4]\n");
  EXPECT_EQ(names_of(model.outputs), "y float32[s0, 4]\nx float32[s0, 4]\ny_1 float32[s0, 4]\n");
  EXPECT_EQ(nodes_of(model),
            "y = Relu(first)\n"
            "x = Identity(first)\n"
            "y_1 = Identity(y)\n");
}

TEST(Convert, WhatTheModelWritesToIsAnOutputMore) {
  const Model model = convert_text(R"(
    input user %x: f32[4] from x
    %y = aten.mul_.Scalar(%x, 2)
    output user %y
  )");
  EXPECT_EQ(names_of(model.outputs), "y float32[4]\nx.updated float32[4]\n");
}

TEST(Convert, SizesThatAreNotKnownAreComputed) {
  const Model model = convert_text(R"(
    symbol s0 in [1, 64]
    symbol s1 in [1, 64]
    input user %x: f32[s0, s1] from x
    %y = aten.full.default([s0*s1 + 1], 2.5)
    output user %y
  )");
  EXPECT_EQ(nodes_of(model),
            "y/Shape = Shape(x)\n"
            "y/Shape_1 = Shape(x)\n"
            "y/Mul = Mul(y/Shape, y/Shape_1)\n"
            "y/Add = Add(y/Mul, constant_1)\n"
            "y = Expand(constant, y/Add)\n");
}

TEST(Convert, ReshapesThatKeepSizesComputeNothing) {
  const Model model = convert_text(R"(
    symbol s0 in [1, 64]
    input user %x: f32[s0, 8] from x
    %y = aten.reshape.default(%x, [s0, 2, 4])
    output user %y
  )");
  EXPECT_EQ(nodes_of(model), "y = Reshape(x, constant)\n");
}

TEST(Convert, OpsDifferByOpset) {
  constexpr const char* kText = R"(
    input user %q: f32[1, 2, 3, 4] from q
    %a = aten.gelu.default(%q)
    %y = aten.scaled_dot_product_attention.default(%a, %a, %a)
    output user %y
  )";
  const auto has = [&](int opset, const std::string& op) {
    return nodes_of(convert_text(kText, opset)).find(" = " + op + "(") != std::string::npos;
  };
  EXPECT_FALSE(has(17, "Gelu"));
  EXPECT_TRUE(has(20, "Gelu"));
  EXPECT_FALSE(has(22, "Attention"));
  EXPECT_TRUE(has(23, "Attention"));
}

TEST(Convert, EveryOpWithoutAFormIsNamed) {
  try {
    convert_text(R"(
      input user %x: f32[4] from x
      %a: f32[4] = aten.mystery.default(%x)
      %b: f32[4] = aten.mystery.default(%a)
      %c: f32[4] = aten.riddle.default(%x)
      %d = aten.relu.default(%b)
      output user %d
      output user %c
    )");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_STREQ(error.what(),
                 "model.pt2: 3 nodes of the model cannot be said in ONNX: aten.mystery.default (2 "
                 "times): no form of it in ONNX is known here; aten.riddle.default: no form of it "
                 "in ONNX is "
                 "known here");
  }
}

TEST(Convert, OpsetsThatAreNotWritten) {
  EXPECT_THROW(convert_text("input user %x: f32[4] from x\noutput user %x", 16), Error);
  EXPECT_THROW(convert_text("input user %x: f32[4] from x\noutput user %x", kNewestOpset + 1),
               Error);
}

}  // namespace
}  // namespace unfuse::onnx
