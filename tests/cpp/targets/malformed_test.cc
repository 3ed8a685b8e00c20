// Graphs that no exporter writes, but a damaged file may hold: an error, never a crash.
#include <gtest/gtest.h>

#include <memory>

#include "compiled.h"
#include "support/graph_parser.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

/// Compiles and plans; returns what is wrong.
std::string error_of(const std::string& text) {
  try {
    Graph graph = testing::parse_graph(text);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const GraphInput& input = graph.inputs()[i];
      const testing::Sizes sizes = *constants(input.value->sizes());
      const Tensor tensor = Tensor::empty(input.value->dtype(), sizes);
      if (tensor.numel() > 0) {
        std::memset(tensor.data(), 0,
                    static_cast<std::size_t>(tensor.numel()) * dtype_size(tensor.dtype()));
      }
      if (input.kind == InputKind::kUser) {
        inputs.push_back(tensor);
      } else {
        graph.set_input_data(i, tensor);
      }
    }
    testing::Compiled(std::move(graph)).run(inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Malformed : public ::testing::TestWithParam<const char*> {};

TEST_P(Malformed, IsAnError) {
  const std::string text = std::string("input user %x: f32[4, 6]\n") + GetParam();
  EXPECT_NE(error_of(text), "") << text;
}

constexpr const char* kGraphs[] = {
    "%y: f32[4, 7] = aten.relu.default(%x)\noutput user %y",
    "%y: f32[5, 6] = aten.reshape.default(%x, [5, 6])\noutput user %y",
    "%y: f32[4, 6] = aten.reshape.default(%x, [5, 6])\n%z: f32[5, 6] = aten.neg.default(%y)\n"
    "output user %z",
    "%y: f32[6, 4] = aten.permute.default(%x, [1])\noutput user %y",
    "%y: f32[6, 4] = aten.permute.default(%x, [1, 7])\noutput user %y",
    "%y: f32[6, 4, 1] = aten.permute.default(%x, [1, 0, 0])\noutput user %y",
    "%y: f32[9] = aten.select.int(%x, 0, 9)\noutput user %y",
    "%y: f32[4, 60] = aten.narrow.default(%x, 1, 3, 60)\noutput user %y",
    "%y: f32[4, 3] = aten.slice.Tensor(%x, 1, 0, 6, 0)\noutput user %y",
    "%y: f32[4, 3] = aten.slice.Tensor(%x, 5, 0, 3)\noutput user %y",
    "%y: f32[4, 30] = aten.slice.Tensor(%x, 1, 0, 30)\noutput user %y",
    "%a: f32[4, 60], %b: f32[4, 60] = aten.split.Tensor(%x, 60, 1)\n"
    "%y: f32[4, 60] = aten.neg.default(%b)\noutput user %y",
    "%y: f32[400] = aten.diagonal.default(%x, 1, 0, 1)\noutput user %y",
    "%y: f32[4, 3, 9] = aten.unfold.default(%x, 1, 9, 1)\noutput user %y",
    "%y: f32[4, 3, 2] = aten.unfold.default(%x, 1, 2, 0)\noutput user %y",
    "%y: f32[8, 6] = aten.expand.default(%x, [8, 6])\noutput user %y",
    "%y: f32[40, 6] = aten.cat.default([%x, %x], 0)\noutput user %y",
    "%y: f32[4, 6] = aten.cat.default([%x, %x], 0)\noutput user %y",
    "%y: f32[4, 6] = aten.roll.default(%x, [1], [0, 1])\noutput user %y",
    "%y: f32[4, 6] = aten.flip.default(%x, [3])\noutput user %y",
    "%y: f32[4] = aten.sum.dim_IntList(%x, [7])\noutput user %y",
    "%y: f32[9] = aten.sum.dim_IntList(%x, [1])\noutput user %y",
    "%y: f32[] = aten.sum.dim_IntList(%x, [1])\noutput user %y",
    "%y: f32[4, 6] = aten.softmax.int(%x, 4)\noutput user %y",
    "%y: f32[4, 6] = aten.cumsum.default(%x, 4)\noutput user %y",
    "%y: f32[4, 4] = aten.matmul.default(%x, %x)\noutput user %y",
    "%s: f32[] = aten.sum.default(%x)\n%y: f32[4, 4] = aten.matmul.default(%s, %x)\n"
    "output user %y",
    "input parameter %w: f32[5, 6]\ninput parameter %b: f32[3]\n"
    "%y: f32[4, 5] = aten.linear.default(%x, %w, %b)\noutput user %y",
    "input parameter %w: f32[5, 7]\n%y: f32[4, 5] = aten.linear.default(%x, %w)\noutput user %y",
    "input parameter %w: f32[5, 6]\n%y: f32[4, 9] = aten.linear.default(%x, %w)\noutput user %y",
    "input user %w: f32[5, 6]\ninput user %b: f32[3]\n"
    "%y: f32[4, 5] = aten.linear.default(%x, %w, %b)\noutput user %y",
    "input parameter %w: f32[3]\n%y: f32[4, 6] = aten.layer_norm.default(%x, [6], %w)\n"
    "output user %y",
    "%y: f32[4, 6] = aten.layer_norm.default(%x, [6, 6, 6])\noutput user %y",
    "%y: f32[4, 6] = aten.group_norm.default(%x, 0)\noutput user %y",
    "%y: f32[4, 6] = aten.group_norm.default(%x, 4)\noutput user %y",
    "%y: f32[4, 6] = aten.constant_pad_nd.default(%x, [-9, 0])\noutput user %y",
    "%y: f32[4, 6] = aten.constant_pad_nd.default(%x, [1, 1, 1, 1, 1, 1])\noutput user %y",
    "%y: f32[4, 6] = aten.tril.default(%x)\n%z: f32[8, 6] = aten.triu.default(%x)\noutput user %z",
    "input user %i: i64[3]\n%y: f32[9, 6] = aten.index_select.default(%x, 0, %i)\noutput user %y",
    "input user %i: i64[3]\n%y: f32[3, 6] = aten.index_select.default(%x, 3, %i)\noutput user %y",
    "input user %i: i64[3]\n%y: f32[3] = aten.index.Tensor(%x, [None, None, %i])\noutput user %y",
    "input user %i: i64[9, 9]\n%y: f32[9, 9] = aten.gather.default(%x, 0, %i)\noutput user %y",
    "%y: f32[4, 6] = unfuse.attention(%x, %x, %x, %x)\n%z: f32[4, 6] = aten.neg.default(%y)\n"
    "%q: f32[6] = aten.relu.default(%z)\noutput user %q",
    "input parameter %w: f32[2, 6, 3]\n"
    "%y: f32[4, 2, 4] = aten.conv1d.default(%x, %w)\noutput user %y",
    "%y: f32[4611686018427387904, 6] = aten.full.default([4611686018427387904, 6], 1)\n"
    "output user %y",
};

INSTANTIATE_TEST_SUITE_P(Graphs, Malformed, ::testing::ValuesIn(kGraphs));

}  // namespace
}  // namespace unfuse
