// Activation functions.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.relu.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.relu_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.gelu.default", "(Tensor self, *, str approximate=\"none\") -> Tensor", kPointwise},
    {"aten.gelu_.default", "(Tensor(a!) self, *, str approximate=\"none\") -> Tensor(a!)",
     kPointwise},
    {"aten.silu.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.silu_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.elu.default",
     "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", kPointwise},
    {"aten.elu_.default",
     "(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, "
     "Scalar input_scale=1) -> Tensor(a!)",
     kPointwise},
    {"aten.selu.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.celu.default", "(Tensor self, Scalar alpha=1.) -> Tensor", kPointwise},
    {"aten.leaky_relu.default", "(Tensor self, Scalar negative_slope=0.01) -> Tensor", kPointwise},
    {"aten.leaky_relu_.default", "(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)",
     kPointwise},
    {"aten.hardswish.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.hardswish_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.hardsigmoid.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.hardsigmoid_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.hardtanh.default", "(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     kPointwise},
    {"aten.hardtanh_.default",
     "(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)", kPointwise},
    {"aten.relu6.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.relu6_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.sigmoid.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.sigmoid_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.tanh.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.tanh_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.softplus.default", "(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     kPointwise},
    {"aten.mish.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.mish_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.threshold.default", "(Tensor self, Scalar threshold, Scalar value) -> Tensor",
     kPointwise},
    {"aten.threshold_.default", "(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)",
     kPointwise},
    {"aten.log_sigmoid.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.hardshrink.default", "(Tensor self, Scalar lambd=0.5) -> Tensor", kPointwise},
    {"aten.softshrink.default", "(Tensor self, Scalar lambd=0.5) -> Tensor", kPointwise},
    {"aten._prelu_kernel.default", "(Tensor self, Tensor weight) -> Tensor", kPointwise},
    {"aten.prelu.default", "(Tensor self, Tensor weight) -> Tensor"},
    {"aten.glu.default", "(Tensor self, int dim=-1) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> activations_ops() { return kRows; }

}  // namespace unfuse::ops
