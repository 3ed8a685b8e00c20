// Reading and writing at indices.
#include <utility>
#include <vector>

#include "targets/cpu/kernels/fill.h"
#include "targets/cpu/kernels/gather.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/scalars.h"
#include "targets/cpu/lowering/view_algebra.h"

namespace unfuse::cpu {
namespace {

/// Indices with the dimensions that they index, as the kernels take them.
struct Indices {
  std::vector<std::int64_t> dims;
  std::vector<View> views;  ///< int64 or int32, of one shape
};

std::vector<OperandSpec> specs(const std::vector<View>& views) {
  std::vector<OperandSpec> result;
  for (const View& view : views) result.push_back(view.spec);
  return result;
}

View as_index(LoweringContext& context, const View& view) {
  const bool taken = view.dtype() == DType::kInt64 || view.dtype() == DType::kInt32;
  return taken ? view : context.converted(view, DType::kInt64);
}

/// The sizes that all broadcast to.
Sizes common_sizes(const std::vector<View>& views) {
  Sizes common;
  for (const View& view : views) {
    while (common.size() < view.sizes().size()) common.insert(common.begin(), 1);
    const std::size_t missing = common.size() - view.sizes().size();
    for (std::size_t i = 0; i < view.sizes().size(); ++i) {
      if (view.sizes()[i] != 1) common[missing + i] = view.sizes()[i];
    }
  }
  return common;
}

Indices indices_of(const Node& node, LoweringContext& context) {
  Indices indices;
  const Argument::Tensors& tensors = node.argument("indices").tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] == nullptr) continue;
    indices.dims.push_back(static_cast<std::int64_t>(i));
    indices.views.push_back(as_index(context, context.view(tensors[i])));
  }
  const Sizes common = common_sizes(indices.views);
  for (View& view : indices.views) view = broadcast(view, common);
  return indices;
}

/// Of elements that are read and written where the indices say.
std::int64_t bytes_of_moving(const std::vector<View>& indices, const View& moved) {
  std::int64_t bytes = 2 * bytes_of_elements(moved);
  for (const View& index : indices) bytes += bytes_of_elements(index);
  return bytes;
}

void emit_index(LoweringContext& context, const View& from, const Indices& indices,
                bool wrap_negative, const View& to) {
  IndexSpec spec;
  spec.input = from.spec;
  spec.dims = indices.dims;
  spec.indices = specs(indices.views);
  spec.wrap_negative = wrap_negative;
  spec.output = to.spec;
  spec.threads = context.threads();
  std::vector<View> inputs = {from};
  inputs.insert(inputs.end(), indices.views.begin(), indices.views.end());
  context.emit(select_index(spec), inputs, {to}, bytes_of_moving(indices.views, to));
}

void lower_embedding(const Node& node, LoweringContext& context) {
  const View indices = as_index(context, context.view(node.argument("indices").value()));
  emit_index(context, context.view(node.argument("weight").value()), {{0}, {indices}}, false,
             context.result(node.result()));
}

void lower_index_select(const Node& node, LoweringContext& context) {
  View from = context.view(node.input(0));
  View index = as_index(context, context.view(node.argument("index").value()));
  View to = context.result(node.result());
  if (index.rank() == 0) index = unsqueezed(index, 0);
  if (from.rank() == 0) from = unsqueezed(from, 0);
  if (to.rank() == 0) to = unsqueezed(to, 0);
  const std::int64_t dimension = wrapped(node.argument("dim").integer(), from.rank());
  emit_index(context, from, {{dimension}, {index}}, false, to);
}

bool is_mask(DType dtype) { return dtype == DType::kBool || dtype == DType::kUInt8; }

Refusal accept_indices(const Node& node) {
  bool any = false;
  for (const Value* index : node.argument("indices").tensors()) {
    if (index == nullptr) continue;
    any = true;
    if (is_mask(index->dtype())) return "indexing with a mask is not supported";
  }
  return any ? Refusal() : "indexing with nothing is not supported";
}

void lower_index(const Node& node, LoweringContext& context) {
  emit_index(context, context.view(node.input(0)), indices_of(node, context), true,
             context.result(node.result()));
}

void lower_gather(const Node& node, LoweringContext& context) {
  const View from = context.view(node.input(0));
  const View index = as_index(context, context.view(node.argument("index").value()));
  const View to = context.result(node.result());
  GatherSpec spec;
  spec.input = from.spec;
  spec.dim = wrapped(node.argument("dim").integer(), from.rank());
  spec.index = index.spec;
  spec.output = to.spec;
  spec.threads = context.threads();
  context.emit(select_gather(spec), {from, index}, {to}, bytes_of_moving({index}, to));
}

/// `to` holds the tensor that is written into; `values` is broadcast to what is written.
void emit_index_put(LoweringContext& context, const Indices& indices, const View& values,
                    bool accumulate, const View& to) {
  IndexPutSpec spec;
  spec.values = values.spec;
  spec.dims = indices.dims;
  spec.indices = specs(indices.views);
  spec.accumulate = accumulate;
  spec.output = to.spec;
  std::vector<View> inputs = {values};
  inputs.insert(inputs.end(), indices.views.begin(), indices.views.end());
  context.emit(select_index_put(spec), inputs, {to}, bytes_of_moving(indices.views, values));
}

/// Sizes of tensor[indices]: those of the indices at the place of the first indexed dimension, or
/// in front when the indexed dimensions do not stand side by side.
Sizes indexed_sizes(const Sizes& sizes, const Indices& indices) {
  const bool adjacent = indices.dims.back() - indices.dims.front() + 1 ==
                        static_cast<std::int64_t>(indices.dims.size());
  Sizes result;
  const auto add_index_sizes = [&] {
    const Sizes& added = indices.views[0].sizes();
    result.insert(result.end(), added.begin(), added.end());
  };
  if (!adjacent) add_index_sizes();
  std::size_t next = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool indexed =
        next < indices.dims.size() && indices.dims[next] == static_cast<std::int64_t>(i);
    if (!indexed) {
      result.push_back(sizes[i]);
      continue;
    }
    if (adjacent && next == 0) add_index_sizes();
    ++next;
  }
  return result;
}

void lower_index_put(const Node& node, LoweringContext& context) {
  const View self = context.view(node.input(0));
  const View to = context.result(node.result());
  context.copy(self, to);
  const Indices indices = indices_of(node, context);
  const View values = context.converted(context.view(node.argument("values").value()), to.dtype());
  emit_index_put(context, indices, broadcast(values, indexed_sizes(self.sizes(), indices)),
                 node.argument("accumulate").boolean(), to);
}

/// Positions 0, 1, ... along one dimension of `sizes`, the same along all others.
View coordinates(LoweringContext& context, const Sizes& sizes, std::int64_t dimension) {
  View line = context.temporary(DType::kInt64, {sizes[static_cast<std::size_t>(dimension)]});
  context.emit(
      select_arange({line.spec, Scalar::integer(0), Scalar::integer(1), context.threads()}), {},
      {line});
  for (std::size_t i = static_cast<std::size_t>(dimension) + 1; i < sizes.size(); ++i) {
    line = unsqueezed(line, line.rank());
  }
  return broadcast(line, sizes);
}

/// A number as a tensor without dimensions.
View number(LoweringContext& context, const Argument& argument, DType dtype) {
  View view = context.temporary(dtype, {});
  context.emit(select_fill({view.spec, scalar(argument, context), 1}), {}, {view});
  return view;
}

/// scatter: out[i][index[i][j]] = src[i][j], as an index_put with indices for every dimension.
void emit_scatter(const Node& node, LoweringContext& context, const View& source, bool accumulate) {
  const View to = context.result(node.result());
  context.copy(context.view(node.input(0)), to);
  const View index = as_index(context, context.view(node.argument("index").value()));
  if (index.numel() == 0) return;
  if (to.rank() == 0) {
    context.copy(source, to);
    return;
  }
  const std::int64_t scattered = wrapped(node.argument("dim").integer(), to.rank());
  Indices indices;
  View values = source;
  for (std::int64_t i = 0; i < to.rank(); ++i) {
    indices.dims.push_back(i);
    indices.views.push_back(i == scattered ? index : coordinates(context, index.sizes(), i));
    if (values.rank() > 0) values = sliced(values, i, 0, index.size(i));
  }
  emit_index_put(context, indices, broadcast(values, index.sizes()), accumulate, to);
}

void lower_scatter(const Node& node, LoweringContext& context) {
  emit_scatter(node, context, context.view(node.argument("src").value()), false);
}

void lower_scatter_value(const Node& node, LoweringContext& context) {
  emit_scatter(node, context, number(context, node.argument("value"), node.result()->dtype()),
               false);
}

/// Also refuses what index_put does not do on a tensor without dimensions.
Refusal accept_scatter_add(const Node& node) {
  if (node.result()->rank() > 0) return std::nullopt;
  return "adding into a tensor without dimensions is not supported";
}

void lower_scatter_add(const Node& node, LoweringContext& context) {
  emit_scatter(node, context, context.view(node.argument("src").value()), true);
}

/// index_add, index_copy, index_fill: whole slices along a dimension.
void emit_slices(const Node& node, LoweringContext& context, const View& source, bool accumulate) {
  const View to = context.result(node.result());
  context.copy(context.view(node.input(0)), to);
  View index = as_index(context, context.view(node.argument("index").value()));
  if (index.rank() == 0) index = unsqueezed(index, 0);
  const Indices indices{{wrapped(node.argument("dim").integer(), to.rank())}, {index}};
  emit_index_put(context, indices, broadcast(source, indexed_sizes(to.sizes(), indices)),
                 accumulate, to);
}

Refusal accept_index_add(const Node& node) {
  return first_refusal({accept_scatter_add(node), require_default(node, "alpha")});
}

void lower_index_add(const Node& node, LoweringContext& context) {
  emit_slices(node, context, context.view(node.argument("source").value()), true);
}

void lower_index_copy(const Node& node, LoweringContext& context) {
  emit_slices(node, context, context.view(node.argument("source").value()), false);
}

void lower_index_fill(const Node& node, LoweringContext& context) {
  emit_slices(node, context, number(context, node.argument("value"), node.result()->dtype()),
              false);
}

constexpr LoweringRow kRows[] = {
    {"aten.embedding.default", accept_all, lower_embedding},
    {"aten.index_select.default", accept_all, lower_index_select},
    {"aten.gather.default", accept_all, lower_gather},
    {"aten.index.Tensor", accept_indices, lower_index},
    {"aten._unsafe_index.Tensor", accept_indices, lower_index},
    {"aten.index_put.default", accept_indices, lower_index_put},
    {"aten._unsafe_index_put.default", accept_indices, lower_index_put},
    {"aten.scatter.src", accept_all, lower_scatter},
    {"aten.scatter.value", accept_all, lower_scatter_value},
    {"aten.scatter_add.default", accept_scatter_add, lower_scatter_add},
    {"aten.index_add.default", accept_index_add, lower_index_add},
    {"aten.index_copy.default", accept_scatter_add, lower_index_copy},
    {"aten.index_fill.int_Scalar", accept_scatter_add, lower_index_fill},
};

}  // namespace

std::span<const LoweringRow> indexing_lowerings() { return kRows; }

}  // namespace unfuse::cpu
