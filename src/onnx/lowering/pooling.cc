// Pooling over images.
#include <algorithm>

#include "onnx/lowering/families.h"

namespace unfuse::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Integers twice(const Integers& values) {
  Integers both = values;
  both.insert(both.end(), values.begin(), values.end());
  return both;
}

struct Window {
  Integers kernel;
  Integers stride;
  Integers pads;  ///< at the beginnings, then at the ends
  bool rounds_up = false;

  /// kernel_shape, strides, pads and ceil_mode, which all pools have.
  Attributes attributes() const {
    return {{"kernel_shape", kernel},
            {"strides", stride},
            {"pads", pads},
            {"ceil_mode", std::int64_t{rounds_up}}};
  }
};

Window window_of(const Node& node) {
  const Integers kernel = node.argument("kernel_size").integers();
  Integers stride = node.argument("stride").integers();
  if (stride.empty()) stride = kernel;
  return {kernel, stride, twice(node.argument("padding").integers()),
          node.argument("ceil_mode").boolean()};
}

/// Says windows that stand out beyond the end as padding there, which counts for no maximum: which
/// of them ceil_mode has was settled with 22 only. Sizes that are not known keep ceil_mode.
void spell_out_rounding(const Node& node, Window& window) {
  const auto dimensions = static_cast<std::int64_t>(window.kernel.size());
  const Integers dilation = node.argument("dilation").integers();
  bool is_known = true;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const auto from = node.input(0)->size(i - dimensions).constant();
    const auto to = node.result()->size(i - dimensions).constant();
    if (!from || !to) {
      is_known = false;
      continue;
    }
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t reach = (window.kernel[at] - 1) * dilation[at] + 1;
    std::int64_t& end = window.pads[at + window.kernel.size()];
    end = std::max(end, (*to - 1) * window.stride[at] + reach - *from - window.pads[at]);
  }
  if (is_known) window.rounds_up = false;
}

void max_pool(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  if (!is_floating_point(dtype)) refuse("ONNX has no max pool of integers");
  Window window = window_of(node);
  if (window.rounds_up) spell_out_rounding(node, window);
  Attributes attributes = window.attributes();
  attributes.push_back({"dilations", node.argument("dilation").integers()});
  context.define(node.result(),
                 context.emit("MaxPool", {context.operand(node.argument(0), dtype)}, attributes));
}

void average_pool(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  if (!node.argument("divisor_override").is_none()) refuse("ONNX has no divisor_override");
  // Which places beyond the edge are counted was settled with 19.
  const Window window = window_of(node);
  if (window.rounds_up && context.opset() < 19) refuse("ceil_mode is defined from opset 19 on");
  Attributes attributes = window.attributes();
  attributes.push_back(
      {"count_include_pad", std::int64_t{node.argument("count_include_pad").boolean()}});
  context.define(
      node.result(),
      context.emit("AveragePool", {context.operand(node.argument(0), dtype)}, attributes));
}

/// [to, from], whose row i averages window i: from floor(i * from / to) to ceil((i + 1) * from /
/// to).
Operand averages(LoweringContext& context, std::int64_t from, std::int64_t to, DType dtype) {
  Tensor matrix = Tensor::empty(DType::kFloat64, {to, from});
  auto* element = matrix.data_as<double>();
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from / to;
    const std::int64_t end = ((i + 1) * from + to - 1) / to;
    for (std::int64_t j = 0; j < from; ++j) {
      *element++ = j >= begin && j < end ? 1.0 / static_cast<double>(end - begin) : 0.0;
    }
  }
  return context.convert(context.constant(matrix), dtype);
}

/// Windows of unequal sizes: a product with a matrix for each direction.
void adaptive_average_pool(const Node& node, LoweringContext& context) {
  const Value* input = node.input(0);
  const DType dtype = wide_dtype(node.result()->dtype());
  Operand x = context.operand(node.argument(0), dtype);
  const auto from_rows = input->size(-2).constant();
  const auto from_columns = input->size(-1).constant();
  const auto rows = node.result()->size(-2).constant();
  const auto columns = node.result()->size(-1).constant();
  if (rows == 1 && columns == 1) {
    return context.define(node.result(),
                          context.reduce("ReduceMean", x, {input->rank() - 2, input->rank() - 1}));
  }
  if (!from_rows || !from_columns || !rows || !columns) {
    refuse("ONNX has adaptive pooling over images of fixed sizes only");
  }
  x = context.emit("MatMul", {averages(context, *from_rows, *rows, dtype), x});
  const Operand sideways =
      context.transpose(averages(context, *from_columns, *columns, dtype), {1, 0});
  context.define(node.result(), context.emit("MatMul", {x, sideways}));
}

constexpr LoweringRow kRows[] = {
    {"aten.max_pool2d.default", max_pool},
    {"aten.avg_pool2d.default", average_pool},
    {"aten.adaptive_avg_pool2d.default", adaptive_average_pool},
};

}  // namespace

std::span<const LoweringRow> pooling_lowerings() { return kRows; }

}  // namespace unfuse::onnx
