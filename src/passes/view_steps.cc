// The table from view ops to steps. Every op that only shows elements elsewhere is here, under each
// of its names: as a view, as a copy (aten.view_copy), as a change of the tensor itself
// (aten.squeeze_).
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "passes/canonical.h"
#include "passes/views.h"

namespace unfuse::passes {
namespace {

struct ViewCall {
  const Node& node;
  Value* self;
  const Value* result;
  int index;
  const SymbolRanges& symbols;
};

using Step = std::optional<ViewStep>;
using MakeStep = Step (*)(const ViewCall& call);

Step identity(const ViewCall&) { return ViewStep{}; }

Step identity_when_not_training(const ViewCall& call) {
  const Argument& train = call.node.argument("train");
  const bool training = train.is_none() || train.boolean();
  if (training) return std::nullopt;
  return ViewStep{};
}

Step to_result_sizes(const ViewCall& call) {
  ViewStep step;
  step.kind = ViewStep::Kind::kReshape;
  step.sizes = call.result->sizes();
  return step;
}

// Both lie without gaps in row-major order and begin at one element: a reshape. Decompositions of
// PyTorch write some reshapes so. Any other window on a storage is none of the dialect's views.
// What was recorded of where an input begins holds for the inputs that were traced with alone.
Step restrided(const ViewCall& call) {
  const TensorType& self = call.self->tensor();
  const TensorType& result = call.result->tensor();
  const Argument& offset = call.node.argument("storage_offset");
  const bool same_begin = offset.is_none() || (offset.dim() == self.storage_offset &&
                                               viewed_base(call.self)->producer() != nullptr);
  const bool dense = self.is_contiguous() && result.is_contiguous();
  if (!same_begin || !dense || self.numel() != result.numel()) return std::nullopt;
  return to_result_sizes(call);
}

Step expanded(const ViewCall& call) {
  // One place an element: nothing is expanded, and it may be written through.
  if (call.self->tensor().numel() == call.result->tensor().numel()) return to_result_sizes(call);
  ViewStep step;
  step.kind = ViewStep::Kind::kExpand;
  step.sizes = call.result->sizes();
  return step;
}

Step permuted(std::vector<std::int64_t> order) {
  ViewStep step;
  step.kind = ViewStep::Kind::kPermute;
  step.order = std::move(order);
  return step;
}

Step swap_two(const ViewCall& call) {
  return permuted(swapped_order(call.self->rank(), call.node.argument(1).integer(),
                                call.node.argument(2).integer()));
}

Step swap_last_two(const ViewCall& call) {
  if (call.self->rank() < 2) return identity(call);
  return permuted(swapped_order(call.self->rank(), -2, -1));
}

Step reverse_all(const ViewCall& call) {
  std::vector<std::int64_t> order = all_dimensions(call.self->rank());
  std::reverse(order.begin(), order.end());
  return permuted(std::move(order));
}

Step permute_dims(const ViewCall& call) {
  std::vector<std::int64_t> order = call.node.argument(1).integers();
  for (std::int64_t& dimension : order) dimension = wrap_dimension(dimension, call.self->rank());
  return permuted(std::move(order));
}

Step move_dims(const ViewCall& call) {
  const auto list = [](const Argument& argument) {
    return argument.holds<Dim>() ? std::vector<std::int64_t>{argument.integer()}
                                 : argument.integers();
  };
  const std::int64_t rank = call.self->rank();
  if (rank == 0) return identity(call);
  const std::vector<std::int64_t> sources = list(call.node.argument(1));
  const std::vector<std::int64_t> destinations = list(call.node.argument(2));
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank), -1);
  std::vector<bool> taken(static_cast<std::size_t>(rank), false);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::int64_t source = wrap_dimension(sources[i], rank);
    order.at(static_cast<std::size_t>(wrap_dimension(destinations.at(i), rank))) = source;
    taken.at(static_cast<std::size_t>(source)) = true;
  }
  std::size_t next = 0;
  for (std::int64_t& dimension : order) {
    if (dimension >= 0) continue;
    while (taken[next]) ++next;
    dimension = static_cast<std::int64_t>(next++);
  }
  return permuted(std::move(order));
}

// An index that may be negative, clamped to [0, size]; empty when its sign is not known.
std::optional<Dim> resolve_bound(const Dim& bound, const Dim& size, const SymbolRanges& symbols) {
  // What exporters write for "to the end"; nothing may be subtracted from it.
  if (bound == Dim(INT64_MAX)) return size;
  // All of it counted from the end, whether or not there is anything.
  if (bound + size == Dim(0)) return Dim(0);
  Dim resolved = bound;
  if (less_equal(bound, Dim(-1), symbols) == Answer::kYes) {
    resolved = bound + size;
    if (less_equal(Dim(0), resolved, symbols) != Answer::kYes) resolved = Dim::max(resolved, 0);
  } else if (less_equal(Dim(0), bound, symbols) != Answer::kYes) {
    return std::nullopt;
  }
  if (less_equal(resolved, size, symbols) == Answer::kYes) return resolved;
  if (less_equal(size, resolved, symbols) == Answer::kYes) return size;
  return Dim::min(resolved, size);
}

Step sliced(std::int64_t dimension, Dim start, Dim end, Dim stride) {
  ViewStep step;
  step.kind = ViewStep::Kind::kSlice;
  step.dimension = dimension;
  step.start = std::move(start);
  step.end = std::move(end);
  step.step = std::move(stride);
  return step;
}

Step slice_dims(const ViewCall& call) {
  const std::int64_t dimension =
      wrap_dimension(call.node.argument("dim").integer(), call.self->rank());
  const Dim& size = call.self->size(dimension);
  const Argument& start_argument = call.node.argument("start");
  const Argument& end_argument = call.node.argument("end");
  const Dim& stride = call.node.argument("step").dim();
  // Already as the dialect has it: the recorded size says that neither bound is clamped.
  if (stride == Dim(1) && !start_argument.is_none() && !end_argument.is_none() &&
      end_argument.dim() == start_argument.dim() + call.result->size(dimension) &&
      less_equal(Dim(0), start_argument.dim(), call.symbols) == Answer::kYes) {
    return sliced(dimension, start_argument.dim(), end_argument.dim(), stride);
  }
  const auto start =
      resolve_bound(start_argument.is_none() ? Dim(0) : start_argument.dim(), size, call.symbols);
  if (!start) return std::nullopt;
  // The recorded size says where a slice of step 1 ends, with no need to know which bound is less.
  if (stride == Dim(1)) {
    return sliced(dimension, *start, *start + call.result->size(dimension), stride);
  }
  const auto end =
      resolve_bound(end_argument.is_none() ? size : end_argument.dim(), size, call.symbols);
  if (!end) return std::nullopt;
  return sliced(dimension, *start, *end, stride);
}

Step narrow(const ViewCall& call) {
  const std::int64_t dimension =
      wrap_dimension(call.node.argument("dim").integer(), call.self->rank());
  const auto start =
      resolve_bound(call.node.argument("start").dim(), call.self->size(dimension), call.symbols);
  if (!start) return std::nullopt;
  return sliced(dimension, *start, *start + call.result->size(dimension), 1);
}

// The pieces lie one after the other.
Step piece(const ViewCall& call) {
  const std::int64_t dimension =
      wrap_dimension(call.node.argument("dim").integer(), call.self->rank());
  Dim start(0);
  for (int i = 0; i < call.index; ++i) start += call.node.result(i)->size(dimension);
  return sliced(dimension, start, start + call.result->size(dimension), 1);
}

Step selected(std::int64_t dimension, Dim index) {
  ViewStep step;
  step.kind = ViewStep::Kind::kSelect;
  step.dimension = dimension;
  step.start = std::move(index);
  return step;
}

Step select_index(const ViewCall& call) {
  const std::int64_t dimension =
      wrap_dimension(call.node.argument("dim").integer(), call.self->rank());
  const Dim& index = call.node.argument("index").dim();
  if (less_equal(Dim(0), index, call.symbols) == Answer::kYes) return selected(dimension, index);
  if (less_equal(index, Dim(-1), call.symbols) != Answer::kYes) return std::nullopt;
  return selected(dimension, index + call.self->size(dimension));
}

Step unbind(const ViewCall& call) {
  return selected(wrap_dimension(call.node.argument("dim").integer(), call.self->rank()),
                  Dim(call.index));
}

Step diagonal(const ViewCall& call) {
  ViewStep step;
  step.kind = ViewStep::Kind::kDiagonal;
  const std::int64_t rank = call.self->rank();
  step.order = {call.node.argument("offset").integer(),
                wrap_dimension(call.node.argument("dim1").integer(), rank),
                wrap_dimension(call.node.argument("dim2").integer(), rank)};
  return step;
}

Step unfold(const ViewCall& call) {
  ViewStep step;
  step.kind = ViewStep::Kind::kUnfold;
  step.dimension = wrap_dimension(call.node.argument("dimension").integer(), call.self->rank());
  step.order = {call.node.argument("size").integer(), call.node.argument("step").integer()};
  return step;
}

Step bits(const ViewCall& call) {
  if (dtype_size(call.self->dtype()) != dtype_size(call.result->dtype())) return std::nullopt;
  ViewStep step;
  step.kind = ViewStep::Kind::kBits;
  step.dtype = call.result->dtype();
  return step;
}

const std::unordered_map<std::string_view, MakeStep>& table() {
  static const std::unordered_map<std::string_view, MakeStep> table = {
      {"aten.alias.default", identity},
      {"aten.alias_copy.default", identity},
      {"aten.clone.default", identity},
      {"aten.contiguous.default", identity},
      {"aten.detach.default", identity},
      {"aten.detach_.default", identity},
      {"aten.detach_copy.default", identity},
      {"aten.lift.default", identity},
      {"aten.lift_fresh.default", identity},
      {"aten.lift_fresh_copy.default", identity},
      {"aten.positive.default", identity},
      {"aten.resolve_conj.default", identity},
      {"aten.resolve_neg.default", identity},
      {"aten.alpha_dropout.default", identity_when_not_training},
      {"aten.dropout.default", identity_when_not_training},
      {"aten.feature_alpha_dropout.default", identity_when_not_training},
      {"aten.feature_dropout.default", identity_when_not_training},
      {"aten._reshape_alias.default", to_result_sizes},
      {"aten._unsafe_view.default", to_result_sizes},
      {"aten.atleast_1d.default", to_result_sizes},
      {"aten.atleast_2d.default", to_result_sizes},
      {"aten.atleast_3d.default", to_result_sizes},
      {"aten.flatten.using_ints", to_result_sizes},
      {"aten.ravel.default", to_result_sizes},
      {"aten.reshape.default", to_result_sizes},
      {"aten.reshape_as.default", to_result_sizes},
      {"aten.squeeze.default", to_result_sizes},
      {"aten.squeeze.dim", to_result_sizes},
      {"aten.squeeze.dims", to_result_sizes},
      {"aten.squeeze_.default", to_result_sizes},
      {"aten.squeeze_.dim", to_result_sizes},
      {"aten.squeeze_.dims", to_result_sizes},
      {"aten.squeeze_copy.default", to_result_sizes},
      {"aten.squeeze_copy.dim", to_result_sizes},
      {"aten.squeeze_copy.dims", to_result_sizes},
      {"aten.unflatten.int", to_result_sizes},
      {"aten.unsqueeze.default", to_result_sizes},
      {"aten.unsqueeze_.default", to_result_sizes},
      {"aten.unsqueeze_copy.default", to_result_sizes},
      {"aten.view.default", to_result_sizes},
      {"aten.view_as.default", to_result_sizes},
      {"aten.view_copy.default", to_result_sizes},
      {"aten.broadcast_to.default", expanded},
      {"aten.expand.default", expanded},
      {"aten.expand_as.default", expanded},
      {"aten.expand_copy.default", expanded},
      {"aten.adjoint.default", swap_last_two},
      {"aten.mH.default", swap_last_two},
      {"aten.mT.default", swap_last_two},
      {"aten.matrix_H.default", swap_last_two},
      {"aten.t.default", swap_last_two},
      {"aten.t_.default", swap_last_two},
      {"aten.t_copy.default", swap_last_two},
      {"aten.numpy_T.default", reverse_all},
      {"aten.swapaxes.default", swap_two},
      {"aten.swapdims.default", swap_two},
      {"aten.transpose.int", swap_two},
      {"aten.transpose_.default", swap_two},
      {"aten.transpose_copy.int", swap_two},
      {"aten.permute.default", permute_dims},
      {"aten.permute_copy.default", permute_dims},
      {"aten.moveaxis.int", move_dims},
      {"aten.moveaxis.intlist", move_dims},
      {"aten.movedim.int", move_dims},
      {"aten.movedim.intlist", move_dims},
      {"aten.as_strided.default", restrided},
      {"aten.as_strided_copy.default", restrided},
      {"aten.slice.Tensor", slice_dims},
      {"aten.slice_copy.Tensor", slice_dims},
      {"aten.narrow.default", narrow},
      {"aten.chunk.default", piece},
      {"aten.split.Tensor", piece},
      {"aten.split.sizes", piece},
      {"aten.split_copy.Tensor", piece},
      {"aten.split_with_sizes.default", piece},
      {"aten.split_with_sizes_copy.default", piece},
      {"aten.tensor_split.indices", piece},
      {"aten.tensor_split.sections", piece},
      {"aten.unsafe_chunk.default", piece},
      {"aten.unsafe_split.Tensor", piece},
      {"aten.unsafe_split_with_sizes.default", piece},
      {"aten.select.int", select_index},
      {"aten.select_copy.int", select_index},
      {"aten.unbind.int", unbind},
      {"aten.unbind_copy.int", unbind},
      {"aten.diagonal.default", diagonal},
      {"aten.diagonal_copy.default", diagonal},
      {"aten.unfold.default", unfold},
      {"aten.unfold_copy.default", unfold},
      {"aten.view.dtype", bits},
  };
  return table;
}

bool is_real_tensor(const Value* value) {
  return value != nullptr && value->is_tensor() && !is_complex(value->dtype());
}

}  // namespace

std::vector<std::string_view> view_op_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, make] : table()) names.push_back(name);
  return names;
}

std::optional<ViewStep> view_step(const Node& node, int result, const SymbolRanges& symbols) {
  const auto found = table().find(node.op().name);
  if (found == table().end() || node.arguments().empty()) return std::nullopt;
  if (!node.argument(0).is_value()) return std::nullopt;
  Value* self = node.input(0);
  if (!is_real_tensor(self) || !is_real_tensor(node.result(result))) return std::nullopt;
  return found->second({node, self, node.result(result), result, symbols});
}

}  // namespace unfuse::passes
