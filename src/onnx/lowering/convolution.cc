// Convolutions.
#include "onnx/lowering/families.h"

namespace unfuse::onnx {
namespace {

std::vector<std::int64_t> fixed(const Node& node, std::string_view argument) {
  const auto values = constants(node.argument(argument).dims());
  if (!values) refuse("its " + std::string(argument) + " is symbolic");
  return *values;
}

void convolution(const Node& node, LoweringContext& context) {
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const Operand input = context.operand(node.argument("input"), dtype);
  const Operand weight = context.operand(node.argument("weight"), dtype);
  const Operand bias = context.optional_operand(node.argument("bias"), dtype);
  std::vector<std::int64_t> pads = fixed(node, "padding");
  pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(pads.size()));
  Attributes attributes = {{"strides", fixed(node, "stride")},
                           {"pads", pads},
                           {"dilations", fixed(node, "dilation")},
                           {"group", node.argument("groups").integer()}};
  const bool transposed = node.argument("transposed").boolean();
  if (transposed) attributes.push_back({"output_padding", fixed(node, "output_padding")});
  context.define(node.result(), context.emit(transposed ? "ConvTranspose" : "Conv",
                                             {input, weight, bias}, attributes));
}

constexpr LoweringRow kRows[] = {{"aten.convolution.default", convolution}};

}  // namespace

std::span<const LoweringRow> convolution_lowerings() { return kRows; }

}  // namespace unfuse::onnx
