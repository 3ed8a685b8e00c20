// Choosing elements by a mask.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.where.self", "(Tensor condition, Tensor self, Tensor other) -> Tensor", kPointwise,
     where_type},
    {"aten.where.Scalar", "(Tensor condition, Scalar self, Scalar other) -> Tensor", kPointwise,
     where_type},
    {"aten.where.ScalarSelf", "(Tensor condition, Scalar self, Tensor other) -> Tensor", kPointwise,
     where_type},
    {"aten.where.ScalarOther", "(Tensor condition, Tensor self, Scalar other) -> Tensor",
     kPointwise, where_type},
    {"aten.where.default", "(Tensor condition) -> Tensor[]"},
    {"aten.masked_fill.Scalar", "(Tensor self, Tensor mask, Scalar value) -> Tensor", kPointwise,
     masked_fill_type},
    {"aten.masked_fill.Tensor", "(Tensor self, Tensor mask, Tensor value) -> Tensor", kPointwise,
     masked_fill_type},
    {"aten.masked_fill_.Scalar", "(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten.masked_fill_.Tensor", "(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten.masked_scatter.default",
     "(Tensor self, Tensor mask, Tensor source) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.masked_scatter_.default",
     "(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
     {},
     unchanged_type},
};

}  // namespace

std::span<const OpInfo> selection_ops() { return kRows; }

}  // namespace unfuse::ops
