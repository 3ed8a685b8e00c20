// Elements by their index.
#include <algorithm>

#include "onnx/lowering/families.h"
#include "onnx/lowering/pointwise.h"
#include "ops/shapes.h"
#include "passes/canonical.h"

namespace unfuse::onnx {
namespace {

std::int64_t dimension(const Node& node) {
  return passes::wrap_dimension(node.argument("dim").integer(), node.input(0)->rank());
}

void embedding(const Node& node, LoweringContext& context) {
  const Operand weight = context.operand(node.argument("weight").value());
  const Operand indices = context.operand(node.argument("indices").value());
  context.define(node.result(), context.emit("Gather", {weight, indices}));
}

void index_select(const Node& node, LoweringContext& context) {
  const Value* index = node.argument("index").value();
  if (node.input(0)->rank() == 0) refuse("it selects from a tensor without dimensions");
  const Operand places =
      context.reshape(context.operand(index), index->sizes(), {index->tensor().numel()});
  context.define(node.result(), context.emit("Gather", {context.operand(node.input(0)), places},
                                             {{"axis", dimension(node)}}));
}

/// A tensor without dimensions as one of a single element.
Operand at_least_1d(LoweringContext& context, Operand operand, const Value* value) {
  return value->rank() == 0 ? context.reshape(operand, {}, {1}) : operand;
}

void gather(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const Value* index = node.argument("index").value();
  const Operand from = at_least_1d(context, context.operand(self), self);
  const Operand places = at_least_1d(context, context.operand(index), index);
  Operand result = context.emit("GatherElements", {from, places}, {{"axis", dimension(node)}});
  if (index->rank() == 0) result = context.reshape(result, {1}, {});
  context.define(node.result(), result);
}

// --- index and index_put: tensors of indices in some dimensions

struct Indices {
  std::vector<std::int64_t> axes;    ///< dimensions that are indexed
  std::vector<const Value*> places;  ///< their indices
  std::vector<Dim> sizes;            ///< what the indices broadcast to
  /// Where the dimensions of the indices go in the result.
  std::int64_t position = 0;
};

Indices read_indices(const Node& node) {
  Indices indices;
  std::int64_t axis = 0;
  for (const Value* index : node.argument("indices").tensors()) {
    if (index != nullptr) {
      if (index->dtype() == DType::kBool || index->dtype() == DType::kUInt8) {
        refuse("how many elements a bool index picks depends on the data");
      }
      indices.axes.push_back(axis);
      indices.places.push_back(index);
      indices.sizes = ops::broadcast(indices.sizes, index->sizes());
    }
    ++axis;
  }
  if (indices.axes.empty()) refuse("it has no indices");
  const bool adjacent = indices.axes.back() - indices.axes.front() + 1 ==
                        static_cast<std::int64_t>(indices.axes.size());
  indices.position = adjacent ? indices.axes.front() : 0;
  return indices;
}

/// The dimensions that are indexed first, then the others.
std::vector<std::int64_t> indexed_first(const Indices& indices, std::int64_t rank) {
  std::vector<std::int64_t> order = indices.axes;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const auto& axes = indices.axes;
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  }
  return order;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return result;
}

/// int64 [*sizes, axes]: for each element, its place in every indexed dimension, from the front.
Operand tuples(LoweringContext& context, const Indices& indices, const Value* self) {
  std::vector<Operand> parts;
  const auto last = static_cast<std::int64_t>(indices.sizes.size());
  for (std::size_t i = 0; i < indices.places.size(); ++i) {
    const Value* place = indices.places[i];
    Operand part = context.operand(place, DType::kInt64);
    part = context.expand(part, place->sizes(), indices.sizes);
    // ONNX's scattering knows no negative indices everywhere.
    const Operand size = context.scalar_size(self->size(indices.axes[i]));
    const Operand is_negative =
        context.emit("Less", {part, context.number(std::int64_t{0}, DType::kInt64)}, DType::kBool);
    part = context.where(is_negative, context.emit("Add", {part, size}), part);
    parts.push_back(context.unsqueeze(part, {last}));
  }
  return parts.size() == 1 ? parts.front() : context.emit("Concat", parts, {{"axis", last}});
}

/// From [*indices, *others], as GatherND has it, to where PyTorch has the indices' dimensions.
std::vector<std::int64_t> indices_in_place(const Indices& indices, std::int64_t rank) {
  const auto count = static_cast<std::int64_t>(indices.sizes.size());
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < indices.position; ++i) order.push_back(count + i);
  for (std::int64_t i = 0; i < count; ++i) order.push_back(i);
  for (std::int64_t i = count + indices.position; i < rank; ++i) order.push_back(i);
  return order;
}

void index(const Node& node, LoweringContext& context) {
  const Value* self = node.input(0);
  const Indices indices = read_indices(node);
  const Operand x = context.operand(self);
  if (indices.axes.size() == 1) {
    return context.define(node.result(),
                          context.emit("Gather", {x, context.operand(indices.places.front())},
                                       {{"axis", indices.axes.front()}}));
  }
  const Operand moved = context.transpose(x, indexed_first(indices, self->rank()));
  const Operand gathered = context.emit("GatherND", {moved, tuples(context, indices, self)});
  context.define(node.result(),
                 context.transpose(gathered, indices_in_place(indices, node.result()->rank())));
}

/// self[mask] = number, which needs no counting.
bool put_by_mask(const Node& node, LoweringContext& context) {
  const auto& places = node.argument("indices").tensors();
  const Value* values = node.argument("values").value();
  const bool is_mask = places.size() == 1 && places[0] != nullptr &&
                       places[0]->dtype() == DType::kBool && values->tensor().numel() == Dim(1);
  if (!is_mask) return false;
  const DType dtype = node.result()->dtype();
  const Value* self = node.input(0);
  std::vector<Dim> sizes = places[0]->sizes();
  sizes.resize(self->sizes().size(), Dim(1));
  const Operand mask = context.reshape(context.operand(places[0]), places[0]->sizes(), sizes);
  Operand value = context.operand(node.argument("values"), dtype);
  value = context.reshape(value, values->sizes(), {});
  const Operand x = context.operand(node.argument(0), dtype);
  if (node.argument("accumulate").boolean()) {
    const DType computed = arithmetic_dtype(dtype);
    value = context.convert(
        context.emit("Add", {context.convert(x, computed), context.convert(value, computed)}),
        dtype);
  }
  context.define(node.result(), context.where(mask, value, x));
  return true;
}

void index_put(const Node& node, LoweringContext& context) {
  if (put_by_mask(node, context)) return;
  const Value* self = node.input(0);
  const Value* values = node.argument("values").value();
  const Indices indices = read_indices(node);
  const bool adds = node.argument("accumulate").boolean();
  const DType dtype =
      adds ? wide_dtype(node.result()->dtype()) : arithmetic_dtype(node.result()->dtype());
  const std::vector<std::int64_t> order = indexed_first(indices, self->rank());
  // The values have the sizes that index() would give.
  std::vector<Dim> others;
  for (std::size_t i = indices.axes.size(); i < order.size(); ++i) {
    others.push_back(self->size(order[i]));
  }
  std::vector<Dim> sizes(others.begin(), others.begin() + indices.position);
  sizes.insert(sizes.end(), indices.sizes.begin(), indices.sizes.end());
  sizes.insert(sizes.end(), others.begin() + indices.position, others.end());
  Operand source = context.operand(node.argument("values"), dtype);
  source = context.expand(source, values->sizes(), sizes);
  source = context.transpose(
      source, inverse(indices_in_place(indices, static_cast<std::int64_t>(sizes.size()))));
  const Operand moved = context.transpose(context.operand(node.argument(0), dtype), order);
  Attributes attributes;
  if (adds) attributes.push_back({"reduction", std::string("add")});
  const Operand put =
      context.emit("ScatterND", {moved, tuples(context, indices, self), source}, attributes);
  context.define(node.result(), context.transpose(put, inverse(order)));
}

// --- scatter

/// The part of the source that the indices are for.
Operand cut_to(LoweringContext& context, Operand source, const Value* value, const Value* index) {
  for (std::int64_t axis = 0; axis < index->rank(); ++axis) {
    if (value->size(axis) == index->size(axis)) continue;
    source = context.slice(source, axis, 0, index->size(axis));
  }
  return source;
}

void scatter_from(const Node& node, LoweringContext& context, Operand source,
                  Attributes attributes) {
  const Value* self = node.input(0);
  const Value* places = node.argument("index").value();
  const Operand x = at_least_1d(context, context.operand(node.argument(0), source.dtype), self);
  const Operand at = at_least_1d(context, context.operand(places), places);
  attributes.push_back({"axis", dimension(node)});
  Operand result =
      context.emit("ScatterElements", {x, at, at_least_1d(context, source, places)}, attributes);
  if (self->rank() == 0) result = context.reshape(result, {1}, {});
  context.define(node.result(), result);
}

template <bool kAdds>
void scatter(const Node& node, LoweringContext& context) {
  // Sums are taken in float32 at least.
  const DType dtype =
      kAdds ? wide_dtype(node.result()->dtype()) : arithmetic_dtype(node.result()->dtype());
  const Value* source = node.argument("src").value();
  const Value* places = node.argument("index").value();
  const Operand from =
      cut_to(context, context.operand(node.argument("src"), dtype), source, places);
  Attributes attributes;
  if (kAdds) attributes.push_back({"reduction", std::string("add")});
  scatter_from(node, context, from, attributes);
}

void scatter_value(const Node& node, LoweringContext& context) {
  const DType dtype = node.result()->dtype();
  const Operand value = context.operand(node.argument("value"), dtype);
  scatter_from(node, context, context.expand(value, {}, node.argument("index").value()->sizes()),
               {});
}

constexpr LoweringRow kRows[] = {
    {"aten.embedding.default", embedding}, {"aten.index_select.default", index_select},
    {"aten.gather.default", gather},       {"aten.index.Tensor", index},
    {"aten.index_put.default", index_put}, {"aten.scatter.src", scatter<false>},
    {"aten.scatter.value", scatter_value}, {"aten.scatter_add.default", scatter<true>},
};

}  // namespace

std::span<const LoweringRow> indexing_lowerings() { return kRows; }

}  // namespace unfuse::onnx
