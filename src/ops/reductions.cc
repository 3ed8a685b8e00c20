// Reductions over dimensions.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.sum.default", "(Tensor self, *, ScalarType? dtype=None) -> Tensor"},
    {"aten.sum.dim_IntList",
     "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"},
    {"aten.mean.default", "(Tensor self, *, ScalarType? dtype=None) -> Tensor"},
    {"aten.mean.dim",
     "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"},
    {"aten.amax.default", "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"},
    {"aten.amin.default", "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"},
    {"aten.max.default", "(Tensor self) -> Tensor"},
    {"aten.max.dim",
     "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"},
    {"aten.min.default", "(Tensor self) -> Tensor"},
    {"aten.min.dim",
     "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"},
    {"aten.prod.default", "(Tensor self, *, ScalarType? dtype=None) -> Tensor"},
    {"aten.prod.dim_int",
     "(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"},
    {"aten.any.default", "(Tensor self) -> Tensor"},
    {"aten.any.dim", "(Tensor self, int dim, bool keepdim=False) -> Tensor"},
    {"aten.any.dims", "(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"},
    {"aten.all.default", "(Tensor self) -> Tensor"},
    {"aten.all.dim", "(Tensor self, int dim, bool keepdim=False) -> Tensor"},
    {"aten.all.dims", "(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"},
    {"aten.argmax.default", "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"},
    {"aten.argmin.default", "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"},
    {"aten.var.default", "(Tensor self, bool unbiased=True) -> Tensor"},
    {"aten.var.dim",
     "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"},
    {"aten.var.correction",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> Tensor"},
    {"aten.std.default", "(Tensor self, bool unbiased=True) -> Tensor"},
    {"aten.std.dim",
     "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"},
    {"aten.std.correction",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> Tensor"},
    {"aten.var_mean.correction",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> (Tensor, Tensor)"},
    {"aten.std_mean.correction",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> (Tensor, Tensor)"},
    {"aten.var_mean.dim",
     "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, "
     "Tensor)"},
    {"aten.logsumexp.default", "(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"},
    {"aten.norm.Scalar", "(Tensor self, Scalar p=2) -> Tensor"},
    {"aten.norm.ScalarOpt_dim",
     "(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor"},
    {"aten.norm.ScalarOpt_dim_dtype",
     "(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor"},
    {"aten.linalg_vector_norm.default",
     "(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor"},
    {"aten.count_nonzero.default", "(Tensor self, int? dim=None) -> Tensor"},
    {"aten.count_nonzero.dim_IntList", "(Tensor self, int[] dim) -> Tensor"},
    {"aten.nansum.default",
     "(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor"},
    {"aten.nanmean.default",
     "(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor"},
    {"aten.aminmax.default",
     "(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"},
    {"aten.median.default", "(Tensor self) -> Tensor"},
    {"aten.median.dim",
     "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"},
    {"aten.mode.default",
     "(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"},
};

}  // namespace

std::span<const OpInfo> reductions_ops() { return kRows; }

}  // namespace unfuse::ops
