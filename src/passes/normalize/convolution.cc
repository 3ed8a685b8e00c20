// Convolutions: one op for one to three dimensions, transposed or not, with a batch and full lists.
// Padding by word is turned into numbers; "same" with an odd amount pads more at the end, as torch
// does, by a pad in front.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

Argument::Ints full_list(const Argument& argument, std::size_t count) {
  Argument::Ints list = argument.holds<Dim>() ? Argument::Ints{argument.dim()} : argument.dims();
  while (!list.empty() && list.size() < count) list.push_back(list.back());
  return list;
}

std::size_t spatial_count(const Node& node) {
  return static_cast<std::size_t>(node.argument("weight").value()->rank() - 2);
}

struct Convolution {
  Value* input;
  Argument::Ints stride, padding, dilation;
  bool transposed = false;
  Argument::Ints output_padding;
};

Replacement build(RewriteContext& at, const Node& node, const Convolution& made) {
  const bool batched = made.input->rank() == node.argument("weight").value()->rank();
  Arguments arguments{made.input,
                      node.argument("weight"),
                      node.argument("bias"),
                      made.stride,
                      made.padding,
                      made.dilation,
                      made.transposed,
                      made.output_padding,
                      node.argument("groups")};
  if (batched) return at.become(node, "aten.convolution.default", std::move(arguments));
  arguments[0] = unsqueeze(at.builder, made.input, 0);
  Value* result = at.call("aten.convolution.default", std::move(arguments));
  return replace_by(reshape(at.builder, result, node.result()->sizes()));
}

Convolution read(const Node& node) {
  const std::size_t count = spatial_count(node);
  const Schema& schema = node.op().schema;
  Convolution made;
  made.input = node.argument(0).value();
  made.stride = full_list(node.argument("stride"), count);
  made.dilation = full_list(node.argument("dilation"), count);
  made.output_padding = Argument::Ints(count, Dim(0));
  if (schema.index_of("transposed") >= 0) made.transposed = node.argument("transposed").boolean();
  if (schema.index_of("output_padding") >= 0) {
    made.output_padding = full_list(node.argument("output_padding"), count);
  }
  return made;
}

Replacement with_numbers(RewriteContext& at, const Node& node) {
  Convolution made = read(node);
  made.padding = full_list(node.argument("padding"), spatial_count(node));
  if (node.op().name.starts_with("aten.conv_transpose")) made.transposed = true;
  return build(at, node, made);
}

// _conv_depthwise2d has no groups argument: one channel a group.
Replacement depthwise(RewriteContext& at, const Node& node) {
  const auto groups = node.input(0)->size(-3).constant();
  if (!groups || node.input(0)->rank() != 4) return kKeep;
  Convolution made = read(node);
  return at.become(
      node, "aten.convolution.default",
      {made.input, node.argument("weight"), node.argument("bias"), made.stride,
       full_list(node.argument("padding"), 2), made.dilation, false, made.output_padding, *groups});
}

Replacement with_word(RewriteContext& at, const Node& node) {
  const std::string& padding = node.argument("padding").string();
  const std::size_t count = spatial_count(node);
  Convolution made = read(node);
  made.padding = Argument::Ints(count, Dim(0));
  if (padding == "valid") return build(at, node, made);
  if (padding != "same") return kKeep;
  const Value* weight = node.argument("weight").value();
  Argument::Ints extra;  // of the last dimension first, before and after: constant_pad_nd's order
  bool symmetric = true;
  for (std::size_t i = count; i-- > 0;) {
    const auto kernel = weight->sizes()[i + 2].constant();
    const auto dilation = made.dilation[i].constant();
    if (!kernel || !dilation) return kKeep;
    const std::int64_t total = *dilation * (*kernel - 1);
    made.padding[i] = total / 2;
    extra.emplace_back(0);
    extra.emplace_back(total % 2);
    symmetric = symmetric && total % 2 == 0;
  }
  if (!symmetric) {
    made.input = at.call("aten.constant_pad_nd.default", {made.input, extra, 0.0});
  }
  return build(at, node, made);
}

constexpr RewriteRow kRows[] = {
    {"aten.conv1d.default", with_numbers},           {"aten.conv1d.padding", with_word},
    {"aten.conv2d.default", with_numbers},           {"aten.conv2d.padding", with_word},
    {"aten.conv3d.default", with_numbers},           {"aten.conv3d.padding", with_word},
    {"aten.conv_transpose1d.default", with_numbers}, {"aten.conv_transpose2d.input", with_numbers},
    {"aten.conv_transpose3d.input", with_numbers},   {"aten._convolution.default", with_numbers},
    {"aten.convolution.default", with_numbers},      {"aten._conv_depthwise2d.default", depthwise},
};

}  // namespace

std::span<const RewriteRow> convolution_rewrites() { return kRows; }

}  // namespace unfuse::passes
