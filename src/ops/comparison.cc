// Comparisons and logical ops.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.eq.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.eq.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.ne.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.ne.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.lt.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.lt.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.le.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.le.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.gt.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.gt.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.ge.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.ge.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.eq_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.eq_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise},
    {"aten.ne_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.ne_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise},
    {"aten.lt_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.lt_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise},
    {"aten.gt_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.gt_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise},
    {"aten.le_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.le_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise},
    {"aten.ge_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.ge_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise},
    {"aten.greater.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.greater.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.greater_equal.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.greater_equal.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.less.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.less.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.less_equal.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.less_equal.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.not_equal.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.not_equal.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise},
    {"aten.logical_and.default", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.logical_or.default", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.logical_xor.default", "(Tensor self, Tensor other) -> Tensor", kPointwise},
    {"aten.logical_and_.default", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.logical_or_.default", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.logical_xor_.default", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise},
    {"aten.isclose.default",
     "(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
     "bool equal_nan=False) -> Tensor",
     kPointwise},
    {"aten.equal.default", "(Tensor self, Tensor other) -> bool"},
    {"aten.allclose.default",
     "(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
     "bool equal_nan=False) -> bool"},
};

}  // namespace

std::span<const OpInfo> comparison_ops() { return kRows; }

}  // namespace unfuse::ops
