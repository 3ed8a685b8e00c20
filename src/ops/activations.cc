// Activation functions.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.relu.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.relu_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.gelu.default", "(Tensor self, *, str approximate=\"none\") -> Tensor", kPointwise,
     unary_type},
    {"aten.gelu_.default", "(Tensor(a!) self, *, str approximate=\"none\") -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten.silu.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.silu_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.elu.default",
     "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", kPointwise,
     unary_type},
    {"aten.elu_.default",
     "(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, "
     "Scalar input_scale=1) -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten.selu.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.selu_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.celu.default", "(Tensor self, Scalar alpha=1.) -> Tensor", kPointwise, unary_type},
    {"aten.celu_.default", "(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.leaky_relu.default", "(Tensor self, Scalar negative_slope=0.01) -> Tensor", kPointwise,
     unary_type},
    {"aten.leaky_relu_.default", "(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten.hardswish.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.hardswish_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.hardsigmoid.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.hardsigmoid_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.hardtanh.default", "(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     kPointwise, unary_type},
    {"aten.hardtanh_.default",
     "(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.relu6.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.relu6_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.sigmoid.default", "(Tensor self) -> Tensor", kPointwise, unary_floating_type},
    {"aten.sigmoid_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.tanh.default", "(Tensor self) -> Tensor", kPointwise, unary_floating_type},
    {"aten.tanh_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.softplus.default", "(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     kPointwise, unary_type},
    {"aten.mish.default", "(Tensor self) -> Tensor", kPointwise, unary_type},
    {"aten.mish_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.threshold.default", "(Tensor self, Scalar threshold, Scalar value) -> Tensor",
     kPointwise, unary_type},
    {"aten.threshold_.default", "(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten.log_sigmoid.default", "(Tensor self) -> Tensor", kPointwise, contiguous_copy_type},
    {"aten.log_sigmoid_forward.default", "(Tensor self) -> (Tensor output, Tensor buffer)"},
    {"aten.hardshrink.default", "(Tensor self, Scalar lambd=0.5) -> Tensor", kPointwise,
     unary_type},
    {"aten.softshrink.default", "(Tensor self, Scalar lambd=0.5) -> Tensor", kPointwise,
     unary_type},
    {"aten._prelu_kernel.default", "(Tensor self, Tensor weight) -> Tensor", kPointwise,
     binary_type},
    {"aten.prelu.default", "(Tensor self, Tensor weight) -> Tensor", {}, unary_type},
    {"aten.glu.default", "(Tensor self, int dim=-1) -> Tensor", {}, gated_type},
};

}  // namespace

std::span<const OpInfo> activations_ops() { return kRows; }

}  // namespace unfuse::ops
