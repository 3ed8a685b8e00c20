// Views, and ops that are views in everything but aliasing: results are windows on their operand's
// memory. Only a reshape may have to copy.
#include <algorithm>
#include <numeric>

#include "targets/cpu/layout.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

void lower_identity(const Node& node, LoweringContext& context) {
  context.alias(node.result(), context.view(node.input(0)));
}

/// Serves every op whose result holds the operand's elements in row-major order.
void lower_reshape(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  const Sizes sizes = context.sizes(node.result());
  if (const std::optional<View> window = reshaped(view, sizes)) {
    context.alias(node.result(), *window);
    return;
  }
  const View to = context.contiguous_result(node.result());
  View same_shape = to;
  same_shape.spec = OperandSpec::contiguous(view.dtype(), view.sizes());
  context.copy(view, same_shape);
}

void lower_expand(const Node& node, LoweringContext& context) {
  context.alias(node.result(),
                broadcast(context.view(node.input(0)), context.sizes(node.result())));
}

void lower_permute(const Node& node, LoweringContext& context) {
  context.alias(node.result(),
                permuted(context.view(node.input(0)), node.argument("dims").integers()));
}

void lower_transpose(const Node& node, LoweringContext& context) {
  context.alias(node.result(), transposed(context.view(node.input(0)), node.argument(1).integer(),
                                          node.argument(2).integer()));
}

/// t, numpy_T: all dimensions reversed (t takes at most two).
void lower_reverse(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  std::vector<std::int64_t> dimensions(static_cast<std::size_t>(view.rank()));
  std::iota(dimensions.rbegin(), dimensions.rend(), std::int64_t{0});
  context.alias(node.result(), permuted(view, dimensions));
}

void lower_matrix_transpose(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  context.alias(node.result(), view.rank() == 0 ? view : transposed(view, -2, -1));
}

void lower_select(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), view.rank());
  const std::int64_t size = view.size(dimension);
  const std::int64_t given = context.evaluate(node.argument("index").dim());
  const std::int64_t index = given < 0 ? given + size : given;
  if (index < 0 || index >= size) {
    throw Error(ErrorKind::kInvalidArgument,
                "index " + std::to_string(given) + " is out of range for a dimension of size " +
                    std::to_string(size),
                node.where());
  }
  context.alias(node.result(), selected(view, dimension, index));
}

std::int64_t positive(std::int64_t step) {
  if (step > 0) return step;
  throw Error(ErrorKind::kInvalidArgument, "a step must be positive");
}

/// A bound of a slice as Python reads it: negative counts from the end, and it is cut to the size.
std::int64_t slice_bound(const Argument& argument, std::int64_t otherwise, std::int64_t size,
                         const LoweringContext& context) {
  if (argument.is_none()) return otherwise;
  const std::int64_t given = context.evaluate(argument.dim());
  return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
}

void lower_slice(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), view.rank());
  const std::int64_t size = view.size(dimension);
  const std::int64_t step = positive(context.evaluate(node.argument("step").dim()));
  const std::int64_t start = slice_bound(node.argument("start"), 0, size, context);
  const std::int64_t end = slice_bound(node.argument("end"), size, size, context);
  const std::int64_t length = end <= start ? 0 : (end - start + step - 1) / step;
  context.alias(node.result(), sliced(view, dimension, start, length, step));
}

void lower_narrow(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), view.rank());
  const std::int64_t given = context.evaluate(node.argument("start").dim());
  const std::int64_t start = given < 0 ? given + view.size(dimension) : given;
  context.alias(node.result(),
                sliced(view, dimension, start, context.evaluate(node.argument("length").dim())));
}

/// split, chunk and their kin: the results' own sizes say where each begins.
void lower_split(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), view.rank());
  std::int64_t start = 0;
  for (const Value* result : node.results()) {
    const std::int64_t length = context.evaluate(result->size(dimension));
    context.alias(result, sliced(view, dimension, start, length));
    start += length;
  }
}

void lower_unbind(const Node& node, LoweringContext& context) {
  const View view = context.view(node.input(0));
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), view.rank());
  for (std::size_t i = 0; i < node.results().size(); ++i) {
    context.alias(node.results()[i], selected(view, dimension, static_cast<std::int64_t>(i)));
  }
}

void lower_diagonal(const Node& node, LoweringContext& context) {
  View view = context.view(node.input(0));
  const std::int64_t first = wrapped(node.argument("dim1").integer(), view.rank());
  const std::int64_t second = wrapped(node.argument("dim2").integer(), view.rank());
  const std::int64_t offset = node.argument("offset").integer();
  const std::int64_t stride = view.stride(first) + view.stride(second);
  const std::int64_t length = context.sizes(node.result()).back();
  if (length > 0)
    view.offset += offset >= 0 ? offset * view.stride(second) : -offset * view.stride(first);
  for (const std::int64_t dimension : {std::max(first, second), std::min(first, second)}) {
    view.spec.sizes.erase(view.spec.sizes.begin() + dimension);
    view.spec.strides.erase(view.spec.strides.begin() + dimension);
  }
  view.spec.sizes.push_back(length);
  view.spec.strides.push_back(stride);
  context.alias(node.result(), view);
}

/// Windows along a dimension; the position within one becomes the last dimension.
void lower_unfold(const Node& node, LoweringContext& context) {
  View view = context.view(node.input(0));
  const std::int64_t size = node.argument("size").integer();
  const std::int64_t step = positive(node.argument("step").integer());
  if (view.rank() == 0) {
    view.spec = {view.dtype(), {size}, {1}};
    context.alias(node.result(), view);
    return;
  }
  const std::int64_t dimension = wrapped(node.argument("dimension").integer(), view.rank());
  const std::int64_t stride = view.stride(dimension);
  const std::int64_t last = view.size(dimension) - size;  // where the last window may begin
  View windows = sliced(view, dimension, 0, last < 0 ? -1 : last / step + 1, step);
  windows.spec.sizes.push_back(size);
  windows.spec.strides.push_back(stride);
  context.alias(node.result(), windows);
}

Refusal accept_bitcast(const Node& node) {
  const DType from = node.input(0)->dtype();
  const DType to = node.result()->dtype();
  const bool rewritten = dtype_size(from) == 2 || dtype_size(to) == 2;
  if (dtype_size(from) == dtype_size(to) && !rewritten) return std::nullopt;
  return "reading " + std::string(dtype_name(from)) + " as " + std::string(dtype_name(to)) +
         " is not supported";
}

void lower_bitcast(const Node& node, LoweringContext& context) {
  View view = context.view(node.input(0));
  view.spec.dtype = node.result()->dtype();
  context.alias(node.result(), view);
}

constexpr LoweringRow kRows[] = {
    {"aten.clone.default", accept_all, lower_identity},
    {"aten.contiguous.default", accept_all, lower_identity},
    {"aten.alias.default", accept_all, lower_identity},
    {"aten.alias_copy.default", accept_all, lower_identity},
    {"aten.detach.default", accept_all, lower_identity},
    {"aten.detach_copy.default", accept_all, lower_identity},
    {"aten.lift.default", accept_all, lower_identity},
    {"aten.lift_fresh.default", accept_all, lower_identity},
    {"aten.lift_fresh_copy.default", accept_all, lower_identity},
    {"aten.positive.default", accept_all, lower_identity},
    {"aten.real.default", accept_all, lower_identity},
    {"aten.resolve_conj.default", accept_all, lower_identity},
    {"aten.resolve_neg.default", accept_all, lower_identity},
    {"aten.view.default", accept_all, lower_reshape},
    {"aten.view_copy.default", accept_all, lower_reshape},
    {"aten.view_as.default", accept_all, lower_reshape},
    {"aten.reshape.default", accept_all, lower_reshape},
    {"aten.reshape_as.default", accept_all, lower_reshape},
    {"aten._unsafe_view.default", accept_all, lower_reshape},
    {"aten._reshape_alias.default", accept_all, lower_reshape},
    {"aten.flatten.using_ints", accept_all, lower_reshape},
    {"aten.unflatten.int", accept_all, lower_reshape},
    {"aten.ravel.default", accept_all, lower_reshape},
    {"aten.squeeze.default", accept_all, lower_reshape},
    {"aten.squeeze.dim", accept_all, lower_reshape},
    {"aten.squeeze.dims", accept_all, lower_reshape},
    {"aten.squeeze_copy.default", accept_all, lower_reshape},
    {"aten.squeeze_copy.dim", accept_all, lower_reshape},
    {"aten.squeeze_copy.dims", accept_all, lower_reshape},
    {"aten.unsqueeze.default", accept_all, lower_reshape},
    {"aten.unsqueeze_copy.default", accept_all, lower_reshape},
    {"aten.expand.default", accept_all, lower_expand},
    {"aten.expand_copy.default", accept_all, lower_expand},
    {"aten.expand_as.default", accept_all, lower_expand},
    {"aten.broadcast_to.default", accept_all, lower_expand},
    {"aten.permute.default", accept_all, lower_permute},
    {"aten.permute_copy.default", accept_all, lower_permute},
    {"aten.transpose.int", accept_all, lower_transpose},
    {"aten.transpose_copy.int", accept_all, lower_transpose},
    {"aten.swapaxes.default", accept_all, lower_transpose},
    {"aten.swapdims.default", accept_all, lower_transpose},
    {"aten.t.default", accept_all, lower_reverse},
    {"aten.t_copy.default", accept_all, lower_reverse},
    {"aten.numpy_T.default", accept_all, lower_reverse},
    {"aten.mT.default", accept_all, lower_matrix_transpose},
    {"aten.select.int", accept_all, lower_select},
    {"aten.select_copy.int", accept_all, lower_select},
    {"aten.slice.Tensor", accept_all, lower_slice},
    {"aten.slice_copy.Tensor", accept_all, lower_slice},
    {"aten.narrow.default", accept_all, lower_narrow},
    {"aten.split.Tensor", accept_all, lower_split},
    {"aten.split.sizes", accept_all, lower_split},
    {"aten.split_copy.Tensor", accept_all, lower_split},
    {"aten.split_with_sizes.default", accept_all, lower_split},
    {"aten.split_with_sizes_copy.default", accept_all, lower_split},
    {"aten.chunk.default", accept_all, lower_split},
    {"aten.tensor_split.sections", accept_all, lower_split},
    {"aten.tensor_split.indices", accept_all, lower_split},
    {"aten.unsafe_split.Tensor", accept_all, lower_split},
    {"aten.unsafe_split_with_sizes.default", accept_all, lower_split},
    {"aten.unsafe_chunk.default", accept_all, lower_split},
    {"aten.unbind.int", accept_all, lower_unbind},
    {"aten.unbind_copy.int", accept_all, lower_unbind},
    {"aten.diagonal.default", accept_all, lower_diagonal},
    {"aten.diagonal_copy.default", accept_all, lower_diagonal},
    {"aten.unfold.default", accept_all, lower_unfold},
    {"aten.unfold_copy.default", accept_all, lower_unfold},
    {"aten.view.dtype", accept_bitcast, lower_bitcast},
};

}  // namespace

std::span<const LoweringRow> views_lowerings() { return kRows; }

}  // namespace unfuse::cpu
