// Scans and sorting.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.cumsum.default",
     "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     {},
     scan_type},
    {"aten.cumsum_.default",
     "(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.cumprod.default",
     "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     {},
     scan_type},
    {"aten.cumprod_.default",
     "(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.logcumsumexp.default", "(Tensor self, int dim) -> Tensor"},
    {"aten.cummax.default", "(Tensor self, int dim) -> (Tensor values, Tensor indices)"},
    {"aten.cummin.default", "(Tensor self, int dim) -> (Tensor values, Tensor indices)"},
    {"aten.argsort.default",
     "(Tensor self, int dim=-1, bool descending=False) -> Tensor",
     {},
     argsort_type},
    {"aten.argsort.stable",
     "(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"},
    {"aten.sort.default",
     "(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     {},
     sort_type},
    {"aten.sort.stable",
     "(Tensor self, *, bool? stable, int dim=-1, "
     "bool descending=False) -> (Tensor values, Tensor indices)"},
    {"aten.topk.default",
     "(Tensor self, SymInt k, int dim=-1, bool largest=True, "
     "bool sorted=True) -> (Tensor values, Tensor indices)",
     {},
     topk_type},
    {"aten.kthvalue.default",
     "(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)"},
    {"aten.diff.default",
     "(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
     "Tensor? append=None) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> scan_ops() { return kRows; }

}  // namespace unfuse::ops
