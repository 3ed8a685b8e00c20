// Resampling in its core forms: overloads that take sizes or factors, or sums over neighbours.
#include "ops/resampling.h"

#include <cmath>

#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

std::vector<Dim> spatial_sizes(const Value* image, std::size_t count) {
  const std::vector<Dim>& sizes = image->sizes();
  return {sizes.end() - static_cast<std::ptrdiff_t>(count), sizes.end()};
}

/// Whether the factor makes `to` elements of `from`, as far as that is known.
bool makes(double factor, const Dim& from, const Dim& to) {
  if (!from.constant() || !to.constant()) return true;
  return std::floor(static_cast<double>(*from.constant()) * factor) ==
         static_cast<double>(*to.constant());
}

// To two dims of which the first stays, where the op has but one.
Replacement with_sizes_or_factors(RewriteContext& at, const Node& node, std::string_view op) {
  std::vector<Dim> sizes = node.argument("output_size").dims();
  const bool is_signal = sizes.size() == 1;
  Value* image = node.input(0);
  Argument::Floats factors(is_signal ? 1 : 0, 1.0);
  const std::vector<Dim> from = spatial_sizes(image, sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto factor = ops::resampling_factor(node, i, from, sizes);
    if (!factor) continue;
    if (!makes(*factor, from[i], sizes[i])) return kKeep;
    factors.push_back(*factor);
  }
  const bool sizes_do = factors.size() == (is_signal ? 1 : 0);
  if (!sizes_do && factors.size() < 2) return kKeep;
  if (is_signal) {
    image = unsqueeze(at.builder, image, 2);
    sizes.insert(sizes.begin(), Dim(1));
  }
  Arguments arguments = {image, sizes_do ? Argument(sizes) : Argument()};
  if (node.op().schema.index_of("align_corners") >= 0) {
    arguments.push_back(node.argument("align_corners"));
  }
  arguments.push_back(sizes_do ? Argument() : Argument(factors));
  if (!is_signal) return at.become(node, op, std::move(arguments));
  std::vector<Dim> rows = node.result()->sizes();
  rows.insert(rows.begin() + 2, Dim(1));
  const TensorType type = TensorType::contiguous(image->dtype(), std::move(rows));
  Value* resampled = make_node(at.builder, node, op, std::move(arguments), {type})->result();
  return replace_by(reshape(at.builder, resampled, node.result()->sizes()));
}

Replacement nearest(RewriteContext& at, const Node& node) {
  return with_sizes_or_factors(at, node, "aten.upsample_nearest2d.vec");
}

Replacement linear(RewriteContext& at, const Node& node) {
  return with_sizes_or_factors(at, node, "aten.upsample_bilinear2d.vec");
}

/// The image at another size along one dim.
struct Axis {
  Builder& builder;
  std::int64_t dimension;  ///< counted from the end: -1 or -2
  Dim from, to;
  double scale;  ///< elements of the image per element of the result
  bool aligns_corners;

  Value* apply(std::string_view op, Arguments arguments) const {
    return call(builder, op, std::move(arguments));
  }
  Value* plus(Value* value, double number) const {
    return apply("aten.add.Scalar", {value, number});
  }
  Value* times(Value* value, double number) const {
    return apply("aten.mul.Scalar", {value, number});
  }
  /// scale * (i + offset) for each element i of the result, [to].
  Value* places(double offset, DType dtype) const {
    Value* index = call(builder, "aten.arange.start_step", {0, to, 1}, {{"dtype", DType::kInt64}});
    return times(plus(convert(builder, index, dtype), offset), scale);
  }
  /// The elements of the image at `index`, [to] and whole numbers; beyond it, its outermost ones.
  Value* elements(Value* image, Value* index) const {
    Value* known = apply("aten.clamp.default", {convert(builder, index, DType::kInt64), 0});
    Value* last = full(builder, {}, Argument(from - 1), DType::kInt64);
    known = apply("aten.minimum.default", {known, last});
    return apply("aten.index_select.default", {image, dimension, known});
  }
};

using AlongAxis = Value* (*)(const Axis& axis, Value* image);

// Dim by dim, the last one first.
Replacement by_axes(RewriteContext& at, const Node& node, AlongAxis along) {
  Value* image = node.input(0);
  const std::vector<Dim>& sizes = node.argument("output_size").dims();
  const std::vector<Dim> from = spatial_sizes(image, sizes.size());
  std::vector<Axis> axes;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const auto scale = ops::resampling_scale(node, i, from, sizes);
    if (!scale) return kKeep;
    axes.push_back({at.builder, static_cast<std::int64_t>(i - sizes.size()), from[i], sizes[i],
                    *scale, ops::aligns_corners(node)});
  }
  const DType dtype = image->dtype();
  image = convert(at.builder, image, computed_in(dtype));
  for (const Axis& axis : axes) image = along(axis, image);
  return replace_by(convert(at.builder, image, dtype));
}

// In float32, as PyTorch's kernels have it: which neighbour is the nearest hangs on it.
Value* nearest_exact_along(const Axis& axis, Value* image) {
  Value* place = axis.places(0.5, DType::kFloat32);
  return axis.elements(image, axis.apply("aten.floor.default", {place}));
}

Replacement nearest_exact(RewriteContext& at, const Node& node) {
  return by_axes(at, node, nearest_exact_along);
}

constexpr double kSharpness = -0.75;  // Keys' a

/// ((a + 2) x - (a + 3)) x^2 + 1, of distances up to 1.
Value* near_weight(const Axis& axis, Value* distance) {
  Value* inner = axis.plus(axis.times(distance, kSharpness + 2), -(kSharpness + 3));
  Value* square = axis.apply("aten.mul.Tensor", {distance, distance});
  return axis.plus(axis.apply("aten.mul.Tensor", {inner, square}), 1);
}

/// a (((x - 5) x + 8) x - 4), of distances from 1 to 2.
Value* far_weight(const Axis& axis, Value* distance) {
  Value* sum = axis.plus(axis.apply("aten.mul.Tensor", {axis.plus(distance, -5), distance}), 8);
  sum = axis.plus(axis.apply("aten.mul.Tensor", {sum, distance}), -4);
  return axis.times(sum, kSharpness);
}

Value* cubic_along(const Axis& axis, Value* image) {
  Value* place = axis.aligns_corners ? axis.places(0, image->dtype())
                                     : axis.plus(axis.places(0.5, image->dtype()), -0.5);
  Value* below = axis.apply("aten.floor.default", {place});
  Value* beyond = axis.apply("aten.sub.Tensor", {place, below});
  Value* short_of = axis.plus(axis.times(beyond, -1), 1);
  Value* weights[] = {far_weight(axis, axis.plus(beyond, 1)), near_weight(axis, beyond),
                      near_weight(axis, short_of), far_weight(axis, axis.plus(short_of, 1))};
  Value* sum = nullptr;
  for (int i = 0; i < 4; ++i) {
    Value* weight = weights[i];
    if (axis.dimension == -2) weight = unsqueeze(axis.builder, weight, 1);
    Value* term =
        axis.apply("aten.mul.Tensor", {axis.elements(image, axis.plus(below, i - 1)), weight});
    sum = sum == nullptr ? term : axis.apply("aten.add.Tensor", {sum, term});
  }
  return sum;
}

Replacement cubic(RewriteContext& at, const Node& node) { return by_axes(at, node, cubic_along); }

constexpr RewriteRow kRows[] = {
    {"aten.upsample_nearest1d.default", nearest},
    {"aten.upsample_nearest2d.default", nearest},
    {"aten.upsample_linear1d.default", linear},
    {"aten.upsample_bilinear2d.default", linear},
    {"aten._upsample_nearest_exact1d.default", nearest_exact},
    {"aten._upsample_nearest_exact2d.default", nearest_exact},
    {"aten.upsample_bicubic2d.default", cubic},
};

}  // namespace

std::span<const RewriteRow> core_resampling() { return kRows; }

}  // namespace unfuse::passes
