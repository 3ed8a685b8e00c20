// Images and signals at other sizes: Resize, whose modes are PyTorch's under other names.
#include "ops/resampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "onnx/lowering/families.h"

namespace unfuse::onnx {
namespace {

struct Mode {
  const char* name;
  /// How output places are those of the input where corners are not aligned.
  const char* places = "half_pixel";
  const char* nearest = "floor";
  bool antialias = false;
};

constexpr Mode kNearest = {"nearest", "asymmetric"};
constexpr Mode kNearestExact = {"nearest", "half_pixel", "round_prefer_ceil"};
constexpr Mode kLinear = {"linear"};
constexpr Mode kCubic = {"cubic"};
constexpr Mode kAntialiasedLinear = {"linear", "half_pixel", "floor", true};
constexpr Mode kAntialiasedCubic = {"cubic", "half_pixel", "floor", true};

Attributes attributes_of(const Node& node, const Mode& mode) {
  const bool aligns = ops::aligns_corners(node);
  // The corners of an antialiased image are not what PyTorch aligns then.
  if (aligns && mode.antialias) refuse("ONNX has no antialiasing with align_corners as PyTorch's");
  Attributes attributes = {
      {"mode", std::string(mode.name)},
      {"coordinate_transformation_mode", std::string(aligns ? "align_corners" : mode.places)},
      {"nearest_mode", std::string(mode.nearest)},
      {"cubic_coeff_a", mode.antialias ? -0.5F : -0.75F}};
  if (mode.antialias) attributes.push_back({"antialias", std::int64_t{1}});
  if (mode.antialias) attributes.push_back({"exclude_outside", std::int64_t{1}});
  return attributes;
}

/// In float32, with which the number of elements must come to what it is.
float rounded_factor(double factor, const Dim& from, const Dim& to) {
  const auto rounded = static_cast<float>(factor);
  if (!from.constant() || !to.constant()) return rounded;
  const auto here = static_cast<float>(*from.constant());
  const auto there = static_cast<float>(*to.constant());
  // Some multiply in float32, and some in float64.
  for (const float near : {rounded, std::nextafter(rounded, std::numeric_limits<float>::max())}) {
    const double count = std::floor(static_cast<double>(here) * static_cast<double>(near));
    if (std::floor(here * near) == there && count == static_cast<double>(there)) return near;
  }
  refuse("ONNX takes no factor that is not that of the sizes");
}

/// The factors, [4], where they say more than the sizes do: an image need not have as many
/// elements as its size times the factor.
Operand factors(const Node& node, LoweringContext& context, std::int64_t spatial) {
  constexpr std::int64_t kRank = 4;
  Tensor factors = Tensor::empty(DType::kFloat32, {kRank});
  auto* factor = factors.data_as<float>();
  std::fill_n(factor, kRank, 1.0F);
  const std::vector<Dim> from = {node.input(0)->sizes().end() - spatial,
                                 node.input(0)->sizes().end()};
  const std::vector<Dim> to = {node.result()->sizes().end() - spatial,
                               node.result()->sizes().end()};
  bool say_more = false;
  bool all_known = true;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto given = ops::resampling_factor(node, i, from, to);
    std::optional<double> ratio;
    if (from[i].constant() && to[i].constant()) {
      ratio = static_cast<double>(*to[i].constant()) / static_cast<double>(*from[i].constant());
    }
    all_known = all_known && (given || ratio);
    say_more = say_more || (given && given != ratio);
    const double known = given.value_or(ratio.value_or(1));
    factor[kRank - spatial + static_cast<std::int64_t>(i)] = rounded_factor(known, from[i], to[i]);
  }
  if (!say_more) return LoweringContext::absent();
  if (!all_known) refuse("ONNX takes a factor for each dimension or for none");
  if (from == to) refuse("ONNX Runtime copies an image of the same size, whatever the factor");
  return context.constant(factors);
}

template <const Mode& kMode, std::int64_t kSpatial>
void resample(const Node& node, LoweringContext& context) {
  if (kMode.antialias && context.opset() < 18) refuse("antialiasing is defined from opset 18 on");
  const DType dtype = wide_dtype(node.result()->dtype());
  if (dtype != DType::kFloat32) refuse("ONNX Runtime resamples float32 only");
  Operand x = context.operand(node.argument(0), dtype);
  std::vector<Dim> sizes = node.result()->sizes();
  if (kSpatial == 1) {
    x = context.unsqueeze(x, {2});
    sizes.insert(sizes.begin() + 2, Dim(1));
  }
  const Operand scales = factors(node, context, kSpatial);
  std::vector<Operand> inputs = {x, LoweringContext::absent(), scales};
  if (scales.id < 0) inputs.push_back(context.sizes(sizes));
  const Operand resized = context.emit("Resize", inputs, attributes_of(node, kMode));
  context.define(node.result(), kSpatial == 1 ? context.squeeze(resized, {2}) : resized);
}

constexpr LoweringRow kRows[] = {
    {"aten.upsample_nearest1d.default", resample<kNearest, 1>},
    {"aten.upsample_nearest2d.default", resample<kNearest, 2>},
    {"aten._upsample_nearest_exact1d.default", resample<kNearestExact, 1>},
    {"aten._upsample_nearest_exact2d.default", resample<kNearestExact, 2>},
    {"aten.upsample_linear1d.default", resample<kLinear, 1>},
    {"aten.upsample_bilinear2d.default", resample<kLinear, 2>},
    {"aten.upsample_bicubic2d.default", resample<kCubic, 2>},
    {"aten._upsample_bilinear2d_aa.default", resample<kAntialiasedLinear, 2>},
    {"aten._upsample_bicubic2d_aa.default", resample<kAntialiasedCubic, 2>},
};

}  // namespace

std::span<const LoweringRow> resampling_lowerings() { return kRows; }

}  // namespace unfuse::onnx
