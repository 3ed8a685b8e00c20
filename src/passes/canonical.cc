#include "passes/canonical.h"

#include <numeric>
#include <utility>

#include "ops/catalogue.h"

namespace unfuse::passes {

Value* call(Builder& builder, std::string_view op, Arguments positional,
            const std::vector<KeywordArgument>& keywords) {
  return builder.call(ops::get(op), std::move(positional), keywords);
}

Value* reshape(Builder& builder, Value* value, const std::vector<Dim>& sizes) {
  if (value->sizes() == sizes) return value;
  return call(builder, "aten.reshape.default", {value, sizes});
}

Value* permute(Builder& builder, Value* value, const std::vector<std::int64_t>& order) {
  if (is_identity_order(order)) return value;
  return call(builder, "aten.permute.default", {value, Argument::ints(order)});
}

Value* transpose(Builder& builder, Value* value, std::int64_t first, std::int64_t second) {
  return permute(builder, value, swapped_order(value->rank(), first, second));
}

Value* expand(Builder& builder, Value* value, const std::vector<Dim>& sizes) {
  if (value->sizes() == sizes) return value;
  return call(builder, "aten.expand.default", {value, sizes});
}

Value* slice(Builder& builder, Value* value, std::int64_t dimension, const Dim& start,
             const Dim& end, const Dim& step) {
  const bool whole = start == Dim(0) && end == value->size(dimension) && step == Dim(1);
  if (whole) return value;
  Value* made = call(builder, "aten.slice.Tensor", {value, dimension, start, end, step});
  if (step != Dim(1)) return made;
  // The rule clamps the bounds, and does not see that symbolic ones need no clamping.
  TensorType type = made->tensor();
  type.sizes[static_cast<std::size_t>(dimension)] = end - start;
  made->set_type(std::move(type));
  return made;
}

Value* select(Builder& builder, Value* value, std::int64_t dimension, const Dim& index) {
  return call(builder, "aten.select.int", {value, dimension, index});
}

Value* cat(Builder& builder, const std::vector<Value*>& values, std::int64_t dimension) {
  if (values.size() == 1) return values.front();
  return call(builder, "aten.cat.default", {values, dimension});
}

Value* convert(Builder& builder, Value* value, DType dtype) {
  if (value->dtype() == dtype) return value;
  return call(builder, "aten._to_copy.default", {value}, {{"dtype", dtype}});
}

Value* full(Builder& builder, const std::vector<Dim>& sizes, Argument fill, DType dtype) {
  return call(builder, "aten.full.default", {sizes, std::move(fill)}, {{"dtype", dtype}});
}

std::int64_t wrap_dimension(std::int64_t dimension, std::int64_t rank) {
  return dimension < 0 ? dimension + (rank == 0 ? 1 : rank) : dimension;
}

Value* unsqueeze(Builder& builder, Value* value, std::int64_t dimension) {
  std::vector<Dim> sizes = value->sizes();
  sizes.insert(sizes.begin() + wrap_dimension(dimension, value->rank() + 1), Dim(1));
  return reshape(builder, value, sizes);
}

std::vector<std::int64_t> all_dimensions(std::int64_t rank) {
  std::vector<std::int64_t> dimensions(static_cast<std::size_t>(rank));
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return dimensions;
}

std::vector<std::int64_t> swapped_order(std::int64_t rank, std::int64_t first,
                                        std::int64_t second) {
  std::vector<std::int64_t> order = all_dimensions(rank);
  if (rank == 0) return order;
  std::swap(order.at(static_cast<std::size_t>(wrap_dimension(first, rank))),
            order.at(static_cast<std::size_t>(wrap_dimension(second, rank))));
  return order;
}

bool is_identity_order(const std::vector<std::int64_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace unfuse::passes
