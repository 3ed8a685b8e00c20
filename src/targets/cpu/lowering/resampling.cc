// Images and signals at other sizes: which neighbours an element is made of, as PyTorch has it
// (aten/src/ATen/native/UpSample.h and cpu/UpSampleKernel.cpp).
#include "ops/resampling.h"

#include <algorithm>
#include <cmath>

#include "targets/cpu/kernels/resample.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

/// One dim of the image, here and there.
struct Axis {
  std::int64_t from = 0, to = 0;
  double scale = 1;  ///< input elements per output element
  bool aligns_corners = false;

  /// Where output element i lies among the input's.
  double place(std::int64_t i) const {
    if (aligns_corners) return scale * static_cast<double>(i);
    return scale * (static_cast<double>(i) + 0.5) - 0.5;
  }
  std::int64_t clamp(std::int64_t index) const {
    return std::clamp<std::int64_t>(index, 0, from - 1);
  }
};

/// Adds one sum, of neighbours that follow one another.
class TapsBuilder {
 public:
  void add(std::int64_t index, double weight) {
    taps_.index.push_back(index);
    taps_.weight.push_back(static_cast<float>(weight));
  }
  void end_sum() { taps_.first.push_back(static_cast<std::int64_t>(taps_.index.size())); }
  Taps take() { return std::move(taps_); }

 private:
  Taps taps_ = {{0}, {}, {}};
};

/// In float32, as PyTorch has it: which neighbour is the nearest hangs on it.
Taps nearest(const Axis& axis, float offset) {
  const auto scale = static_cast<float>(axis.scale);
  TapsBuilder taps;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const float place = (static_cast<float>(i) + offset) * scale;
    taps.add(axis.clamp(static_cast<std::int64_t>(std::floor(place))), 1.0);
    taps.end_sum();
  }
  return taps.take();
}

Taps nearest(const Axis& axis) { return nearest(axis, 0.0F); }
Taps nearest_exact(const Axis& axis) { return nearest(axis, 0.5F); }

/// The neighbour below a place, and how far beyond it that is: 0 to 1.
std::pair<std::int64_t, double> below(const Axis& axis, double place) {
  const std::int64_t index = std::min(static_cast<std::int64_t>(std::floor(place)), axis.from - 1);
  return {index, std::clamp(place - static_cast<double>(index), 0.0, 1.0)};
}

Taps linear(const Axis& axis) {
  TapsBuilder taps;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const auto [index, beyond] = below(axis, std::max(axis.place(i), 0.0));
    taps.add(index, 1 - beyond);
    taps.add(axis.clamp(index + 1), beyond);
    taps.end_sum();
  }
  return taps.take();
}

/// Keys' cubic convolution; sharpness is his a. Of distances from 0 to 2.
double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * a * x - 4 * a;
  return 0;
}

Taps cubic(const Axis& axis) {
  constexpr double kSharpness = -0.75;
  TapsBuilder taps;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const auto [index, beyond] = below(axis, axis.place(i));
    for (std::int64_t j = -1; j <= 2; ++j) {
      taps.add(axis.clamp(index + j), cubic_weight(beyond - static_cast<double>(j), kSharpness));
    }
    taps.end_sum();
  }
  return taps.take();
}

/// A filter that is as wide as the distance of output elements, where that is more than one: all
/// input elements count. `reach` is that of the filter for neighbours at distance one.
Taps antialiased(const Axis& axis, double reach, double (*filter)(double distance)) {
  const double scale = axis.scale;
  const double width = std::max(scale, 1.0);
  TapsBuilder taps;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto edge = [&](double distance) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(center + distance + 0.5), 0,
                                      axis.from);
    };
    const std::int64_t begin = edge(-reach * width);
    const std::int64_t end = edge(reach * width);
    const auto weight = [&](std::int64_t j) {
      return filter((static_cast<double>(j) - center + 0.5) / width);
    };
    double total = 0;
    for (std::int64_t j = begin; j < end; ++j) total += weight(j);
    for (std::int64_t j = begin; j < end; ++j) taps.add(j, weight(j) / total);
    taps.end_sum();
  }
  return taps.take();
}

Taps antialiased_linear(const Axis& axis) {
  return antialiased(axis, 1,
                     [](double distance) { return std::max(1 - std::abs(distance), 0.0); });
}

Taps antialiased_cubic(const Axis& axis) {
  return antialiased(axis, 2, [](double distance) { return cubic_weight(distance, -0.5); });
}

std::vector<Dim> spatial_sizes(const View& view, std::size_t count) {
  const Sizes& sizes = view.spec.sizes;
  return {sizes.end() - static_cast<std::ptrdiff_t>(count), sizes.end()};
}

template <Taps (*kTaps)(const Axis& axis)>
void lower_resample(const Node& node, LoweringContext& context) {
  const View image = context.view(node.input(0));
  const View result = context.result(node.result());
  const std::size_t spatial = node.argument("output_size").dims().size();
  const std::vector<Dim> from = spatial_sizes(image, spatial);
  const std::vector<Dim> to = spatial_sizes(result, spatial);
  ResampleSpec spec;
  spec.input = image.spec;
  spec.output = result.spec;
  spec.threads = context.threads();
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t here = from[i].constant().value();
    const std::int64_t there = to[i].constant().value();
    if (here < 1 || there < 1) {
      throw Error(ErrorKind::kInvalidArgument, "an image without elements has no other size");
    }
    const double scale = ops::resampling_scale(node, i, from, to).value();
    spec.taps.push_back(kTaps({here, there, scale, ops::aligns_corners(node)}));
  }
  context.emit(select_resample(spec), {image}, {result});
}

constexpr LoweringRow kRows[] = {
    {"aten.upsample_nearest1d.default", accept_float32, lower_resample<nearest>},
    {"aten.upsample_nearest2d.default", accept_float32, lower_resample<nearest>},
    {"aten._upsample_nearest_exact1d.default", accept_float32, lower_resample<nearest_exact>},
    {"aten._upsample_nearest_exact2d.default", accept_float32, lower_resample<nearest_exact>},
    {"aten.upsample_linear1d.default", accept_float32, lower_resample<linear>},
    {"aten.upsample_bilinear2d.default", accept_float32, lower_resample<linear>},
    {"aten.upsample_bicubic2d.default", accept_float32, lower_resample<cubic>},
    {"aten._upsample_bilinear2d_aa.default", accept_float32, lower_resample<antialiased_linear>},
    {"aten._upsample_bicubic2d_aa.default", accept_float32, lower_resample<antialiased_cubic>},
};

}  // namespace

std::span<const LoweringRow> resampling_lowerings() { return kRows; }

}  // namespace unfuse::cpu
