// Images and signals at other sizes.
#include "ops/resampling.h"

#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.upsample_nearest1d.default",
     "(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     {},
     resample_type},
    {"aten.upsample_nearest1d.vec",
     "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"},
    {"aten._upsample_nearest_exact1d.default",
     "(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     {},
     resample_type},
    {"aten._upsample_nearest_exact1d.vec",
     "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"},
    {"aten.upsample_linear1d.default",
     "(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor",
     {},
     resample_type},
    {"aten.upsample_linear1d.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"},
    {"aten.upsample_nearest2d.default",
     "(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor",
     {},
     resample_type},
    {"aten.upsample_nearest2d.vec",
     "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"},
    {"aten._upsample_nearest_exact2d.default",
     "(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor",
     {},
     resample_type},
    {"aten._upsample_nearest_exact2d.vec",
     "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"},
    {"aten.upsample_bilinear2d.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     {},
     resample_type},
    {"aten.upsample_bilinear2d.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"},
    {"aten._upsample_bilinear2d_aa.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     {},
     resample_type},
    {"aten._upsample_bilinear2d_aa.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"},
    {"aten.upsample_bicubic2d.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     {},
     resample_type},
    {"aten.upsample_bicubic2d.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"},
    {"aten._upsample_bicubic2d_aa.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     {},
     resample_type},
    {"aten._upsample_bicubic2d_aa.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"},
    {"aten.grid_sampler_2d.default",
     "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor"},
};

/// Other kernels than for larger images (_use_vectorized_kernel_cond_2d, which takes images whose
/// channels are innermost for small, too; how a tensor lies in memory makes no difference here).
bool is_small(std::span<const Dim> sizes) {
  constexpr std::int64_t kLargest = 128;
  const auto sum = (sizes[0] + sizes[1]).constant();
  return sum && *sum <= kLargest;
}

bool overlooks_factor(const std::string& op, std::size_t i, std::span<const Dim> from,
                      std::span<const Dim> to) {
  if (op == "aten.upsample_nearest2d.default") {
    return is_small(to) && (to[i] == from[i] || to[i] == from[i] * 2);
  }
  const auto is_one_of = [&](auto... names) { return ((op == names) || ...); };
  return to[i] == from[i] &&
         is_one_of("aten.upsample_linear1d.default", "aten.upsample_bilinear2d.default",
                   "aten._upsample_bilinear2d_aa.default", "aten._upsample_bicubic2d_aa.default");
}

}  // namespace

bool aligns_corners(const Node& node) {
  const int at = node.op().schema.index_of("align_corners");
  return at >= 0 && node.argument(at).boolean();
}

std::optional<double> resampling_factor(const Node& node, std::size_t i, std::span<const Dim> from,
                                        std::span<const Dim> to) {
  const char* name = to.size() == 1 ? "scales" : i == 0 ? "scales_h" : "scales_w";
  const Argument& factor = node.argument(name);
  if (factor.is_none() || factor.number() <= 0 || aligns_corners(node)) return std::nullopt;
  if (overlooks_factor(node.op().name, i, from, to)) return std::nullopt;
  return factor.number();
}

std::optional<double> resampling_scale(const Node& node, std::size_t i, std::span<const Dim> from,
                                       std::span<const Dim> to) {
  if (const auto factor = resampling_factor(node, i, from, to)) return 1.0 / *factor;
  if (!from[i].constant() || !to[i].constant()) return std::nullopt;
  const auto here = static_cast<double>(*from[i].constant());
  const auto there = static_cast<double>(*to[i].constant());
  if (!aligns_corners(node)) return here / there;
  return there > 1 ? (here - 1) / (there - 1) : 0.0;
}

std::span<const OpInfo> resampling_ops() { return kRows; }

}  // namespace unfuse::ops
