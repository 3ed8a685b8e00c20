// Assertions, and ops that read sizes or elements as numbers.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.sym_size.int", "(Tensor self, int dim) -> SymInt"},
    {"aten.sym_numel.default", "(Tensor self) -> SymInt"},
    {"aten.sym_stride.int", "(Tensor self, int dim) -> SymInt"},
    {"aten.sym_storage_offset.default", "(Tensor self) -> SymInt"},
    {"aten._assert_async.default", "(Tensor self) -> ()", {}, nothing_type},
    {"aten._assert_async.msg", "(Tensor self, str assert_msg) -> ()", {}, nothing_type},
    {"aten._assert_tensor_metadata.default",
     "(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, "
     "Device? device=None, Layout? layout=None) -> ()",
     {},
     nothing_type},
    {"aten.sym_constrain_range.default",
     "(Scalar size, *, int? min=None, int? max=None) -> ()",
     {},
     nothing_type},
    {"aten.sym_constrain_range_for_size.default",
     "(Scalar size, *, int? min=None, int? max=None) -> ()",
     {},
     nothing_type},
    {"aten._assert_scalar.default", "(Scalar self, str assert_msg) -> ()", {}, nothing_type},
    {"aten._functional_assert_async.msg",
     "(Tensor self, str assert_msg, Tensor dep_token) -> Tensor"},
    {"aten._functional_assert_scalar.default",
     "(Scalar self, str assert_msg, Tensor dep_token) -> Tensor"},
    {"aten.item.default", "(Tensor self) -> Scalar"},
    {"aten._local_scalar_dense.default", "(Tensor self) -> Scalar"},
};

}  // namespace

std::span<const OpInfo> asserts_ops() { return kRows; }

}  // namespace unfuse::ops
