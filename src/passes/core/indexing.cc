// Reads, writes and orders along one dimension, as ones of single elements or of whole rows.
#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

/// The tensor with the dimension that indices count along in front.
Value* in_front(Builder& builder, Value* value, std::int64_t dimension) {
  return transpose(builder, value, 0, dimension);
}

/// self[..., index, ...] = rows, or += rows, along the node's `dim`; `rows` has that dimension in
/// front, or is a number of self's dtype.
Replacement put_rows(RewriteContext& at, const Node& node, Value* rows, bool adds) {
  Builder& builder = at.builder;
  const std::int64_t dimension =
      wrap_dimension(node.argument("dim").integer(), node.input(0)->rank());
  Value* self = in_front(builder, node.input(0), dimension);
  Value* index = node.argument("index").value();
  Value* result =
      call(builder, "aten.index_put.default", {self, std::vector<Value*>{index}, rows, adds});
  return replace_by(in_front(builder, result, dimension));
}

/// An index without dimensions counts for one.
bool is_list(const Node& node) {
  return node.input(0)->rank() > 0 && node.argument("index").value()->rank() == 1;
}

Value* source_in_front(Builder& builder, const Node& node) {
  Value* source = node.argument("source").value();
  return in_front(builder, source, wrap_dimension(node.argument("dim").integer(), source->rank()));
}

Replacement index_add(RewriteContext& at, const Node& node) {
  if (!is_list(node)) return kKeep;
  Value* rows = source_in_front(at.builder, node);
  const Argument& alpha = node.argument("alpha");
  if (alpha.number() != 1) rows = call(at.builder, "aten.mul.Scalar", {rows, alpha});
  return put_rows(at, node, rows, /*adds=*/true);
}

Replacement index_copy(RewriteContext& at, const Node& node) {
  if (!is_list(node)) return kKeep;
  return put_rows(at, node, source_in_front(at.builder, node), /*adds=*/false);
}

Replacement index_fill(RewriteContext& at, const Node& node) {
  if (!is_list(node)) return kKeep;
  Value* number = scalar(at.builder, node.argument("value"), node.input(0)->dtype());
  return put_rows(at, node, number, /*adds=*/false);
}

// gather, of operands that are broadcast in all dimensions but one.
Replacement take_along_dim(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  Value* indices = node.input(1);
  if (node.argument("dim").is_none()) {
    self = reshape(builder, self, {self->tensor().numel()});
    indices = reshape(builder, indices, {indices->tensor().numel()});
    return replace_by(call(builder, "aten.gather.default", {self, 0, indices}));
  }
  if (self->rank() == 0) return kKeep;
  const std::int64_t dimension = wrap_dimension(node.argument("dim").integer(), self->rank());
  std::vector<Dim> sizes = node.result()->sizes();
  indices = expand(builder, indices, sizes);
  sizes[static_cast<std::size_t>(dimension)] = self->size(dimension);
  self = expand(builder, self, sizes);
  return replace_by(call(builder, "aten.gather.default", {self, dimension, indices}));
}

// Ones scattered over zeros. Without a number of classes, that depends on the data.
Replacement one_hot(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  if (node.argument("num_classes").integer() < 0) return kKeep;
  const std::vector<Dim>& sizes = node.result()->sizes();
  Value* zeros = full(builder, sizes, Argument(0), DType::kInt64);
  Value* classes = unsqueeze(builder, node.input(0), node.input(0)->rank());
  return replace_by(call(builder, "aten.scatter.value", {zeros, -1, classes, 1}));
}

// The second result of the sort that takes the same arguments.
Replacement places_in(RewriteContext& at, const Node& node, std::string_view sort) {
  TensorType values = node.result()->tensor();
  values.dtype = node.input(0)->dtype();
  const Node* sorted =
      make_node(at.builder, node, sort, node.arguments(), {values, node.result()->type()});
  return replace_by(sorted->result(1));
}

Replacement argsort(RewriteContext& at, const Node& node) {
  return places_in(at, node, "aten.sort.default");
}

Replacement argsort_stable(RewriteContext& at, const Node& node) {
  return places_in(at, node, "aten.sort.stable");
}

constexpr RewriteRow kRows[] = {
    {"aten.argsort.default", argsort},          {"aten.argsort.stable", argsort_stable},
    {"aten.index_add.default", index_add},      {"aten.index_copy.default", index_copy},
    {"aten.index_fill.int_Scalar", index_fill}, {"aten.take_along_dim.default", take_along_dim},
    {"aten.one_hot.default", one_hot},
};

}  // namespace

std::span<const RewriteRow> core_indexing() { return kRows; }

}  // namespace unfuse::passes
