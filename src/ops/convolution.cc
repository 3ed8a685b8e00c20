// Convolutions.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.conv1d.default",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
     "SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
     {},
     conv_type},
    {"aten.conv1d.padding",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
     "str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
     {},
     conv_padding_type},
    {"aten.conv2d.default",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
     "SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
     {},
     conv_type},
    {"aten.conv2d.padding",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
     "str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
     {},
     conv_padding_type},
    {"aten.conv3d.default",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
     "SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], "
     "SymInt groups=1) -> Tensor",
     {},
     conv_type},
    {"aten.conv3d.padding",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
     "str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
     {},
     conv_padding_type},
    {"aten.convolution.default",
     "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
     "SymInt[] dilation, bool transposed, SymInt[] output_padding, "
     "SymInt groups) -> Tensor",
     {},
     convolution_type},
    {"aten._convolution.default",
     "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
     "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
     "bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
     {},
     convolution_type},
    {"aten.conv_transpose1d.default",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
     "SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, "
     "SymInt[1] dilation=[1]) -> Tensor"},
    {"aten.conv_transpose2d.input",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
     "SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, "
     "SymInt[2] dilation=[1, 1]) -> Tensor"},
    {"aten.conv_transpose3d.input",
     "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
     "SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, "
     "SymInt[3] dilation=[1, 1, 1]) -> Tensor"},
    {"aten._conv_depthwise2d.default",
     "(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, "
     "SymInt[2] padding, SymInt[2] dilation) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> convolution_ops() { return kRows; }

}  // namespace unfuse::ops
