// Pooling.
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
};

}  // namespace

std::span<const OpInfo> pooling_ops() { return kRows; }

}  // namespace unfuse::ops
