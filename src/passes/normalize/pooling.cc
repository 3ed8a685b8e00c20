// Pooling: two dimensions, a batch, and the stride always given. Without its indices
// max_pool2d_with_indices is max_pool2d; an average over everything is a mean.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

// A list for `count` dimensions: one number stands for all, none for `otherwise`.
Argument::Ints full_list(const Argument& argument, std::size_t count,
                         const Argument::Ints& otherwise) {
  Argument::Ints list;
  if (argument.holds<Dim>()) {
    list = {argument.dim()};
  } else if (argument.holds<Argument::Ints>()) {
    list = argument.dims();
  }
  if (list.empty()) list = otherwise;
  while (list.size() < count) list.push_back(list.back());
  return list;
}

Argument::Ints with_leading(Argument::Ints list, const Dim& first) {
  list.insert(list.begin(), first);
  return list;
}

// [C, L] or [N, C, L] as [N, C, 1, L]; [C, H, W] as [1, C, H, W].
Value* as_batched_2d(RewriteContext& at, Value* value, std::int64_t spatial) {
  std::vector<Dim> sizes = value->sizes();
  if (static_cast<std::int64_t>(sizes.size()) == spatial + 1) sizes.insert(sizes.begin(), Dim(1));
  if (spatial == 1) sizes.insert(sizes.begin() + 2, Dim(1));
  return reshape(at.builder, value, sizes);
}

Value* back(RewriteContext& at, Value* pooled, const Node& node) {
  return reshape(at.builder, pooled, node.result()->sizes());
}

struct Window {
  Argument::Ints kernel, stride, padding, dilation;
};

Window window_of(const Node& node, std::size_t spatial) {
  Window window;
  window.kernel = full_list(node.argument("kernel_size"), spatial, {1});
  window.stride = full_list(node.argument("stride"), spatial, window.kernel);
  window.padding = full_list(node.argument("padding"), spatial, {0});
  const int dilation = node.op().schema.index_of("dilation");
  window.dilation = full_list(dilation < 0 ? Argument() : node.argument(dilation), spatial, {1});
  if (spatial == 1) {
    window = {with_leading(window.kernel, 1), with_leading(window.stride, 1),
              with_leading(window.padding, 0), with_leading(window.dilation, 1)};
  }
  return window;
}

bool is_batched_2d(const Node& node) { return node.input(0)->rank() == 4; }

Value* max_pooled(RewriteContext& at, const Node& node, std::int64_t spatial) {
  const Window window = window_of(node, static_cast<std::size_t>(spatial));
  Value* pooled = at.call("aten.max_pool2d.default",
                          {as_batched_2d(at, node.input(0), spatial), window.kernel, window.stride,
                           window.padding, window.dilation, node.argument("ceil_mode")});
  return back(at, pooled, node);
}

Replacement max_pool2d(RewriteContext& at, const Node& node) {
  if (!is_batched_2d(node)) return replace_by(max_pooled(at, node, 2));
  const Window window = window_of(node, 2);
  return at.become(node, "aten.max_pool2d.default",
                   {node.input(0), window.kernel, window.stride, window.padding, window.dilation,
                    node.argument("ceil_mode")});
}

Replacement max_pool1d(RewriteContext& at, const Node& node) {
  return replace_by(max_pooled(at, node, 1));
}

Replacement max_pool_with_indices(RewriteContext& at, const Node& node) {
  if (node.result(1)->use_count() > 0) return kKeep;
  const bool one = node.is("aten.max_pool1d_with_indices.default");
  return std::vector<Value*>{max_pooled(at, node, one ? 1 : 2), nullptr};
}

Arguments average_arguments(Value* value, const Node& node, const Window& window) {
  const int divisor = node.op().schema.index_of("divisor_override");
  return {value,
          window.kernel,
          window.stride,
          window.padding,
          node.argument("ceil_mode"),
          node.argument("count_include_pad"),
          divisor < 0 ? Argument() : node.argument(divisor)};
}

Replacement avg_pool2d(RewriteContext& at, const Node& node) {
  const Window window = window_of(node, 2);
  if (is_batched_2d(node)) {
    return at.become(node, "aten.avg_pool2d.default",
                     average_arguments(node.input(0), node, window));
  }
  Value* value = as_batched_2d(at, node.input(0), 2);
  return replace_by(
      back(at, at.call("aten.avg_pool2d.default", average_arguments(value, node, window)), node));
}

Replacement avg_pool1d(RewriteContext& at, const Node& node) {
  Value* value = as_batched_2d(at, node.input(0), 1);
  const Arguments arguments = average_arguments(value, node, window_of(node, 1));
  return replace_by(back(at, at.call("aten.avg_pool2d.default", arguments), node));
}

bool to_one_element(const Argument::Ints& sizes) {
  for (const Dim& size : sizes) {
    if (size != Dim(1)) return false;
  }
  return true;
}

Replacement adaptive_avg_pool(RewriteContext& at, const Node& node, std::int64_t spatial) {
  Value* self = node.input(0);
  const Argument::Ints sizes =
      full_list(node.argument("output_size"), static_cast<std::size_t>(spatial), {1});
  if (to_one_element(sizes)) {
    std::vector<std::int64_t> dimensions;
    for (std::int64_t i = self->rank() - spatial; i < self->rank(); ++i) dimensions.push_back(i);
    return at.become(node, "aten.mean.dim", {self, Argument::ints(dimensions), true});
  }
  if (spatial == 2 && is_batched_2d(node)) {
    return at.become(node, "aten.adaptive_avg_pool2d.default", {self, sizes});
  }
  Value* value = as_batched_2d(at, self, spatial);
  const Argument::Ints wanted = spatial == 1 ? with_leading(sizes, 1) : sizes;
  return replace_by(back(at, at.call("aten.adaptive_avg_pool2d.default", {value, wanted}), node));
}

Replacement adaptive_avg_pool1d(RewriteContext& at, const Node& node) {
  return adaptive_avg_pool(at, node, 1);
}
Replacement adaptive_avg_pool2d(RewriteContext& at, const Node& node) {
  return adaptive_avg_pool(at, node, 2);
}

constexpr RewriteRow kRows[] = {
    {"aten.max_pool1d.default", max_pool1d},
    {"aten.max_pool1d_with_indices.default", max_pool_with_indices},
    {"aten.max_pool2d.default", max_pool2d},
    {"aten.max_pool2d_with_indices.default", max_pool_with_indices},
    {"aten.avg_pool1d.default", avg_pool1d},
    {"aten.avg_pool2d.default", avg_pool2d},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool1d},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool2d},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool2d},
};

}  // namespace

std::span<const RewriteRow> pooling_rewrites() { return kRows; }

}  // namespace unfuse::passes
