// Ops that put tensors together or repeat them: what is left is cat, reshape, permute, expand and
// constant_pad_nd.
#include <algorithm>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

// Legacy: 1-D tensors without elements are left out of a cat, whatever the others are.
bool is_legacy_empty(const Value* value) { return value->rank() == 1 && value->size(0) == Dim(0); }

std::vector<Value*> converted(RewriteContext& at, const std::vector<Value*>& values, DType dtype) {
  std::vector<Value*> result;
  result.reserve(values.size());
  for (Value* value : values) result.push_back(convert(at.builder, value, dtype));
  return result;
}

Replacement cat_values(RewriteContext& at, const Node& node) {
  const Value* result = node.result();
  std::vector<Value*> kept;
  for (Value* value : node.argument(0).tensors()) {
    if (!is_legacy_empty(value) || result->rank() == 1) kept.push_back(value);
  }
  if (kept.empty()) return kKeep;
  const std::int64_t dimension = wrap_dimension(node.argument(1).integer(), result->rank());
  kept = converted(at, kept, result->dtype());
  if (kept.size() == 1) return replace_by(kept.front());
  return at.become(node, "aten.cat.default", {kept, dimension});
}

Replacement stack(RewriteContext& at, const Node& node) {
  const std::int64_t dimension = wrap_dimension(node.argument(1).integer(), node.result()->rank());
  std::vector<Value*> values = converted(at, node.argument(0).tensors(), node.result()->dtype());
  for (Value*& value : values) value = unsqueeze(at.builder, value, dimension);
  return replace_by(cat(at.builder, values, dimension));
}

// hstack, vstack, dstack: each tensor is given its missing dimensions, then all are joined along
// one.
Replacement stack_along(RewriteContext& at, const Node& node, std::int64_t dimension,
                        std::vector<Dim> (*at_least)(std::vector<Dim> sizes)) {
  std::vector<Value*> values = converted(at, node.argument(0).tensors(), node.result()->dtype());
  for (Value*& value : values) value = reshape(at.builder, value, at_least(value->sizes()));
  return replace_by(cat(at.builder, values, dimension));
}

std::vector<Dim> at_least_1d(std::vector<Dim> sizes) {
  if (sizes.empty()) sizes.emplace_back(1);
  return sizes;
}

std::vector<Dim> at_least_2d(std::vector<Dim> sizes) {
  while (sizes.size() < 2) sizes.insert(sizes.begin(), Dim(1));
  return sizes;
}

std::vector<Dim> at_least_3d(std::vector<Dim> sizes) {
  sizes = at_least_2d(std::move(sizes));
  if (sizes.size() == 2) sizes.emplace_back(1);
  return sizes;
}

Replacement hstack(RewriteContext& at, const Node& node) {
  return stack_along(at, node, node.result()->rank() == 1 ? 0 : 1, at_least_1d);
}

Replacement vstack(RewriteContext& at, const Node& node) {
  return stack_along(at, node, 0, at_least_2d);
}

Replacement dstack(RewriteContext& at, const Node& node) {
  return stack_along(at, node, 2, at_least_3d);
}

// [a, b] repeated (r, 2, 3) times: a dimension of size 1 is put before each, expanded, merged.
Value* repeated(RewriteContext& at, Value* value, const std::vector<Dim>& repeats) {
  std::vector<Dim> sizes = value->sizes();
  while (sizes.size() < repeats.size()) sizes.insert(sizes.begin(), Dim(1));
  std::vector<Dim> apart, wide, merged;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool once = repeats[i] == Dim(1);
    if (!once) {
      apart.emplace_back(1);
      wide.push_back(repeats[i]);
    }
    apart.push_back(sizes[i]);
    wide.push_back(sizes[i]);
    merged.push_back(repeats[i] * sizes[i]);
  }
  return reshape(at.builder, expand(at.builder, reshape(at.builder, value, apart), wide), merged);
}

Replacement repeat(RewriteContext& at, const Node& node) {
  std::vector<Dim> repeats = node.argument(1).dims();
  Value* self = node.input(0);
  // tile takes fewer repeats than there are dimensions.
  while (static_cast<std::int64_t>(repeats.size()) < self->rank()) {
    repeats.insert(repeats.begin(), Dim(1));
  }
  return replace_by(repeated(at, self, repeats));
}

// Every element along `dim` is repeated in its place.
Replacement repeat_interleave(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const Dim& repeats = node.argument("repeats").dim();
  std::int64_t dimension = 0;
  if (node.argument("dim").is_none()) {
    self = reshape(at.builder, self, {self->tensor().numel()});
  } else {
    dimension = wrap_dimension(node.argument("dim").integer(), self->rank());
  }
  std::vector<Dim> apart = self->sizes();
  apart.insert(apart.begin() + dimension + 1, Dim(1));
  std::vector<Dim> wide = apart;
  wide[static_cast<std::size_t>(dimension) + 1] = repeats;
  Value* expanded = expand(at.builder, reshape(at.builder, self, apart), wide);
  return replace_by(reshape(at.builder, expanded, node.result()->sizes()));
}

Replacement roll(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const std::vector<Dim>& shifts = node.argument("shifts").dims();
  std::vector<std::int64_t> dimensions = node.argument("dims").integers();
  const bool flat = dimensions.empty();
  if (flat) dimensions = {0};
  const std::vector<Dim> sizes = flat ? std::vector<Dim>{self->tensor().numel()} : self->sizes();
  std::vector<Dim> cuts;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    dimensions[i] = wrap_dimension(dimensions[i], static_cast<std::int64_t>(sizes.size()));
    const Dim& size = sizes.at(static_cast<std::size_t>(dimensions[i]));
    if (size == Dim(0) || i >= shifts.size()) return kKeep;
    cuts.push_back(Dim::mod(size - shifts[i], size));
  }
  Value* value = reshape(at.builder, self, sizes);
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (cuts[i] == Dim(0)) continue;
    const std::int64_t dimension = dimensions[i];
    Value* head = slice(at.builder, value, dimension, cuts[i], value->size(dimension));
    Value* tail = slice(at.builder, value, dimension, 0, cuts[i]);
    value = cat(at.builder, {head, tail}, dimension);
  }
  return replace_by(reshape(at.builder, value, self->sizes()));
}

// What is written lies between what is kept before and after it.
Value* written_slice(RewriteContext& at, Value* self, Value* source, std::int64_t dimension,
                     const Dim& start, const Dim& end) {
  std::vector<Value*> parts;
  if (start != Dim(0)) parts.push_back(slice(at.builder, self, dimension, 0, start));
  parts.push_back(expand(at.builder, convert(at.builder, source, self->dtype()), [&] {
    std::vector<Dim> sizes = self->sizes();
    sizes[static_cast<std::size_t>(dimension)] = end - start;
    return sizes;
  }()));
  const Dim& size = self->size(dimension);
  if (end != size) parts.push_back(slice(at.builder, self, dimension, end, size));
  return cat(at.builder, parts, dimension);
}

Replacement slice_scatter(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const std::int64_t dimension = wrap_dimension(node.argument("dim").integer(), self->rank());
  const Dim& size = self->size(dimension);
  const Argument& start_argument = node.argument("start");
  const Argument& end_argument = node.argument("end");
  Dim start = start_argument.is_none() ? Dim(0) : start_argument.dim();
  Dim end =
      end_argument.is_none() || end_argument.dim() == Dim(INT64_MAX) ? size : end_argument.dim();
  if (start == Dim(INT64_MAX)) return kKeep;
  if (less_equal(start, Dim(-1), at.symbols()) == Answer::kYes) start = start + size;
  if (less_equal(end, Dim(-1), at.symbols()) == Answer::kYes) end = end + size;
  if (less_equal(size, end, at.symbols()) == Answer::kYes) end = size;
  const bool in_order = less_equal(Dim(0), start, at.symbols()) == Answer::kYes &&
                        less_equal(start, end, at.symbols()) == Answer::kYes &&
                        less_equal(end, size, at.symbols()) == Answer::kYes;
  if (!in_order) return kKeep;
  if (const Dim& step = node.argument("step").dim(); step != Dim(1)) {
    return at.become(node, "aten.slice_scatter.default",
                     {self, node.input(1), dimension, start, end, step});
  }
  return replace_by(written_slice(at, self, node.input(1), dimension, start, end));
}

// copy(self, src): src, as large and of the dtype as self is.
Replacement copy(RewriteContext& at, const Node& node) {
  const Argument& source = node.argument("src");
  const TensorType& type = node.result()->tensor();
  if (!source.is_value() || source.value()->tensor().device != type.device) return kKeep;
  return replace_by(
      expand(at.builder, convert(at.builder, source.value(), type.dtype), type.sizes));
}

Replacement select_scatter(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const std::int64_t dimension = wrap_dimension(node.argument("dim").integer(), self->rank());
  Dim index = node.argument("index").dim();
  if (less_equal(index, Dim(-1), at.symbols()) == Answer::kYes) {
    index = index + self->size(dimension);
  } else if (less_equal(Dim(0), index, at.symbols()) != Answer::kYes) {
    return kKeep;
  }
  Value* source = unsqueeze(at.builder, node.input(1), dimension);
  return replace_by(written_slice(at, self, source, dimension, index, index + Dim(1)));
}

Replacement pad(RewriteContext& at, const Node& node) {
  if (node.argument("mode").string() != "constant") return kKeep;
  const Argument& value = node.argument("value");
  return at.become(node, "aten.constant_pad_nd.default",
                   {node.input(0), node.argument("pad"), value.is_none() ? Argument(0.0) : value});
}

Replacement constant_pad(RewriteContext&, const Node& node) {
  const std::vector<Dim>& amounts = node.argument("pad").dims();
  const bool nothing = std::all_of(amounts.begin(), amounts.end(),
                                   [](const Dim& amount) { return amount == Dim(0); });
  return nothing ? replace_by(node.input(0)) : kKeep;
}

Replacement flip_dimensions(RewriteContext& at, const Node& node,
                            std::vector<std::int64_t> dimensions) {
  for (std::int64_t& dimension : dimensions) {
    dimension = wrap_dimension(dimension, node.input(0)->rank());
  }
  std::sort(dimensions.begin(), dimensions.end());
  if (dimensions.empty()) return replace_by(node.input(0));
  return at.become(node, "aten.flip.default", {node.input(0), Argument::ints(dimensions)});
}

Replacement flip(RewriteContext& at, const Node& node) {
  return flip_dimensions(at, node, node.argument("dims").integers());
}
Replacement fliplr(RewriteContext& at, const Node& node) { return flip_dimensions(at, node, {1}); }
Replacement flipud(RewriteContext& at, const Node& node) { return flip_dimensions(at, node, {0}); }

// [.., C*r*r, H, W] -> [.., C, H*r, W*r]
Replacement pixel_shuffle(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const Dim factor(node.argument("upscale_factor").integer());
  const std::vector<Dim>& to = node.result()->sizes();
  std::vector<Dim> apart(to.begin(), to.end() - 3);
  const auto batch = static_cast<std::int64_t>(apart.size());
  for (const Dim& size : {to[to.size() - 3], factor, factor, self->size(-2), self->size(-1)}) {
    apart.push_back(size);
  }
  std::vector<std::int64_t> order = all_dimensions(batch);
  for (const std::int64_t place : {0, 3, 1, 4, 2}) order.push_back(batch + place);
  return replace_by(
      reshape(at.builder, permute(at.builder, reshape(at.builder, self, apart), order), to));
}

constexpr RewriteRow kRows[] = {
    {"aten.cat.default", cat_values},
    {"aten.stack.default", stack},
    {"aten.hstack.default", hstack},
    {"aten.vstack.default", vstack},
    {"aten.dstack.default", dstack},
    {"aten.repeat.default", repeat},
    {"aten.repeat_interleave.self_int", repeat_interleave},
    {"aten.roll.default", roll},
    {"aten.copy.default", copy},
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.select_scatter.default", select_scatter},
    {"aten.pad.default", pad},
    {"aten.constant_pad_nd.default", constant_pad},
    {"aten.flip.default", flip},
    {"aten.fliplr.default", fliplr},
    {"aten.flipud.default", flipud},
    {"aten.pixel_shuffle.default", pixel_shuffle},
};

}  // namespace

std::span<const RewriteRow> shape_rewrites() { return kRows; }

}  // namespace unfuse::passes
