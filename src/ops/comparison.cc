// Comparisons and logical ops.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.eq.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.eq.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.ne.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.ne.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.lt.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.lt.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.le.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.le.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.gt.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.gt.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.ge.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.ge.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.eq_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.eq_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.ne_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.ne_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.lt_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.lt_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.gt_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.gt_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.le_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.le_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.ge_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.ge_.Scalar", "(Tensor(a!) self, Scalar other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.greater.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.greater.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.greater_equal.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.greater_equal.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.less.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.less.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise, binary_bool_type},
    {"aten.less_equal.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.less_equal.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.not_equal.Tensor", "(Tensor self, Tensor other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.not_equal.Scalar", "(Tensor self, Scalar other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.logical_and.default", "(Tensor self, Tensor other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.logical_or.default", "(Tensor self, Tensor other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.logical_xor.default", "(Tensor self, Tensor other) -> Tensor", kPointwise,
     binary_bool_type},
    {"aten.logical_and_.default", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.logical_or_.default", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.logical_xor_.default", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.isclose.default",
     "(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
     "bool equal_nan=False) -> Tensor",
     kPointwise, binary_bool_type},
    {"aten.equal.default", "(Tensor self, Tensor other) -> bool"},
    {"aten.allclose.default",
     "(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
     "bool equal_nan=False) -> bool"},
};

}  // namespace

std::span<const OpInfo> comparison_ops() { return kRows; }

}  // namespace unfuse::ops
