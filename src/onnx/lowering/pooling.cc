// Pooling over images and volumes.
#include <algorithm>
#include <limits>
#include <string_view>

#include "onnx/lowering/families.h"
#include "passes/canonical.h"

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

/// A list for `count` dimensions: one number stands for all.
Integers full_list(const Node& node, std::string_view name, std::size_t count) {
  Integers list = node.argument(name).integers();
  while (!list.empty() && list.size() < count) list.push_back(list.back());
  return list;
}

Window window_of(const Node& node, std::size_t dimensions) {
  const Integers kernel = full_list(node, "kernel_size", dimensions);
  Integers stride = full_list(node, "stride", dimensions);
  if (stride.empty()) stride = kernel;
  return {kernel, stride, twice(full_list(node, "padding", dimensions)),
          node.argument("ceil_mode").boolean()};
}

/// ONNX pools batches: [N, C, ...], of one where PyTorch has none.
Operand batch(const Node& node, LoweringContext& context, DType dtype, std::int64_t dimensions) {
  const Operand x = context.operand(node.argument(0), dtype);
  return node.input(0)->rank() == dimensions + 1 ? context.unsqueeze(x, {0}) : x;
}

void define_pooled(const Node& node, LoweringContext& context, Operand pooled,
                   std::int64_t dimensions) {
  const bool is_single = node.input(0)->rank() == dimensions + 1;
  context.define(node.result(), is_single ? context.squeeze(pooled, {0}) : pooled);
}

/// Padding as wide as the kernel is more than ONNX Runtime's pools take.
Operand pad_ends(LoweringContext& context, Operand x, Window& window) {
  const std::size_t count = window.kernel.size();
  bool is_wide = false;
  for (std::size_t i = 0; i < count; ++i) {
    is_wide = is_wide || window.pads[i + count] >= window.kernel[i];
  }
  if (!is_wide) return x;
  Integers pads(2 * (count + 2), 0);
  std::copy(window.pads.begin() + static_cast<std::ptrdiff_t>(count), window.pads.end(),
            pads.end() - static_cast<std::ptrdiff_t>(count));
  std::fill(window.pads.begin() + static_cast<std::ptrdiff_t>(count), window.pads.end(), 0);
  const Operand nothing = context.number(-std::numeric_limits<double>::infinity(), x.dtype);
  return context.emit("Pad", {x, context.integers(pads), nothing});
}

/// Says windows that stand out beyond the end as padding there, which counts for no maximum: which
/// of them ceil_mode has was settled with 22 only. Sizes that are not known keep ceil_mode.
void spell_out_rounding(const Node& node, Window& window) {
  const auto dimensions = static_cast<std::int64_t>(window.kernel.size());
  const Integers dilation = full_list(node, "dilation", window.kernel.size());
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

template <std::int64_t kDimensions>
void max_pool(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  if (!is_floating_point(dtype)) refuse("ONNX has no max pool of integers");
  Window window = window_of(node, kDimensions);
  if (window.rounds_up) spell_out_rounding(node, window);
  const Operand x = pad_ends(context, batch(node, context, dtype, kDimensions), window);
  Attributes attributes = window.attributes();
  attributes.push_back({"dilations", full_list(node, "dilation", kDimensions)});
  define_pooled(node, context, context.emit("MaxPool", {x}, attributes), kDimensions);
}

template <std::int64_t kDimensions>
void average_pool(const Node& node, LoweringContext& context) {
  const DType dtype = wide_dtype(node.result()->dtype());
  if (!node.argument("divisor_override").is_none()) refuse("ONNX has no divisor_override");
  // Which places beyond the edge are counted was settled with 19.
  const Window window = window_of(node, kDimensions);
  if (window.rounds_up && context.opset() < 19) refuse("ceil_mode is defined from opset 19 on");
  Attributes attributes = window.attributes();
  attributes.push_back(
      {"count_include_pad", std::int64_t{node.argument("count_include_pad").boolean()}});
  const Operand x = batch(node, context, dtype, kDimensions);
  define_pooled(node, context, context.emit("AveragePool", {x}, attributes), kDimensions);
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

/// The product with a matrix along one axis.
Operand averaged(LoweringContext& context, Operand x, Operand matrix, std::int64_t rank,
                 std::int64_t axis) {
  if (axis == rank - 2) return context.emit("MatMul", {matrix, x});
  if (axis == rank - 1) return context.emit("MatMul", {x, context.transpose(matrix, {1, 0})});
  const Integers swap = passes::swapped_order(rank, axis, rank - 2);
  const Operand product = context.emit("MatMul", {matrix, context.transpose(x, swap)});
  return context.transpose(product, swap);
}

/// Windows of unequal sizes: a product with a matrix for each direction.
template <std::int64_t kDimensions>
void adaptive_average_pool(const Node& node, LoweringContext& context) {
  const Value* input = node.input(0);
  const Value* result = node.result();
  const DType dtype = wide_dtype(result->dtype());
  Operand x = context.operand(node.argument(0), dtype);
  Integers axes;
  bool is_global = true;
  for (std::int64_t axis = input->rank() - kDimensions; axis < input->rank(); ++axis) {
    axes.push_back(axis);
    is_global = is_global && result->size(axis).constant() == 1;
  }
  if (is_global) return context.define(result, context.reduce("ReduceMean", x, axes));
  for (const std::int64_t axis : axes) {
    const auto from = input->size(axis).constant();
    const auto to = result->size(axis).constant();
    if (!from || !to) refuse("ONNX has adaptive pooling over images of fixed sizes only");
    x = averaged(context, x, averages(context, *from, *to, dtype), input->rank(), axis);
  }
  context.define(result, x);
}

constexpr LoweringRow kRows[] = {
    {"aten.max_pool2d.default", max_pool<2>},
    {"aten.max_pool3d.default", max_pool<3>},
    {"aten.avg_pool2d.default", average_pool<2>},
    {"aten.avg_pool3d.default", average_pool<3>},
    {"aten.adaptive_avg_pool2d.default", adaptive_average_pool<2>},
    {"aten.adaptive_avg_pool3d.default", adaptive_average_pool<3>},
};

}  // namespace

std::span<const LoweringRow> pooling_lowerings() { return kRows; }

}  // namespace unfuse::onnx
