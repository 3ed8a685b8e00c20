// Pooling and resampling.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.max_pool1d.default",
     "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
     "int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
     {},
     max_pool_type},
    {"aten.max_pool2d.default",
     "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "int[2] dilation=1, bool ceil_mode=False) -> Tensor",
     {},
     max_pool_type},
    {"aten.max_pool3d.default",
     "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
     "int[3] dilation=1, bool ceil_mode=False) -> Tensor",
     {},
     max_pool_type},
    {"aten.max_pool2d_with_indices.default",
     "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     {},
     max_pool_with_indices_type},
    {"aten.max_pool1d_with_indices.default",
     "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
     "int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)"},
    {"aten.max_pool3d_with_indices.default",
     "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
     "int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     {},
     max_pool_with_indices_type},
    {"aten.avg_pool1d.default",
     "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
     "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     {},
     avg_pool_type},
    {"aten.avg_pool2d.default",
     "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, "
     "int? divisor_override=None) -> Tensor",
     {},
     avg_pool_type},
    {"aten.avg_pool3d.default",
     "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, "
     "int? divisor_override=None) -> Tensor",
     {},
     avg_pool_type},
    {"aten.adaptive_avg_pool1d.default",
     "(Tensor self, int[1] output_size) -> Tensor",
     {},
     adaptive_pool_type},
    {"aten.adaptive_avg_pool2d.default",
     "(Tensor self, SymInt[2] output_size) -> Tensor",
     {},
     adaptive_pool_type},
    {"aten._adaptive_avg_pool2d.default",
     "(Tensor self, SymInt[2] output_size) -> Tensor",
     {},
     adaptive_pool_type},
    {"aten.adaptive_avg_pool3d.default",
     "(Tensor self, SymInt[3] output_size) -> Tensor",
     {},
     adaptive_pool_type},
    {"aten._adaptive_avg_pool3d.default",
     "(Tensor self, SymInt[3] output_size) -> Tensor",
     {},
     adaptive_pool_type},
    {"aten.adaptive_max_pool1d.default", "(Tensor self, int[1] output_size) -> (Tensor, Tensor)"},
    {"aten.adaptive_max_pool2d.default", "(Tensor self, int[2] output_size) -> (Tensor, Tensor)"},
    {"aten.upsample_nearest2d.default",
     "(Tensor self, SymInt[2] output_size, float? scales_h=None, "
     "float? scales_w=None) -> Tensor"},
    {"aten.upsample_nearest2d.vec",
     "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"},
    {"aten.upsample_bilinear2d.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None) -> Tensor"},
    {"aten.upsample_bilinear2d.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor"},
    {"aten.upsample_bicubic2d.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None) -> Tensor"},
    {"aten.upsample_bicubic2d.vec",
     "(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor"},
    {"aten._upsample_bilinear2d_aa.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None) -> Tensor"},
    {"aten._upsample_bicubic2d_aa.default",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None) -> Tensor"},
    {"aten.upsample_nearest1d.default",
     "(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"},
    {"aten.upsample_linear1d.default",
     "(Tensor self, SymInt[1] output_size, bool align_corners, "
     "float? scales=None) -> Tensor"},
    {"aten.grid_sampler_2d.default",
     "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> pooling_ops() { return kRows; }

}  // namespace unfuse::ops
