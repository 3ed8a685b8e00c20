// Matrix products.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.linear.default",
     "(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     {},
     linear_type},
    {"aten.addmm.default",
     "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     {},
     addmm_type},
    {"aten.addmm_.default",
     "(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.mm.default", "(Tensor self, Tensor mat2) -> Tensor", {}, mm_type},
    {"aten.bmm.default", "(Tensor self, Tensor mat2) -> Tensor", {}, bmm_type},
    {"aten.matmul.default", "(Tensor self, Tensor other) -> Tensor", {}, matmul_type},
    {"aten.baddbmm.default",
     "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor",
     {},
     baddbmm_type},
    {"aten.baddbmm_.default",
     "(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor(a!)",
     {},
     unchanged_type},
    {"aten.addbmm.default",
     "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor"},
    {"aten.addbmm_.default",
     "(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor(a!)",
     {},
     unchanged_type},
    {"aten.einsum.default", "(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"},
    {"aten.dot.default", "(Tensor self, Tensor tensor) -> Tensor", {}, dot_type},
    {"aten.mv.default", "(Tensor self, Tensor vec) -> Tensor", {}, mv_type},
    {"aten.outer.default", "(Tensor self, Tensor vec2) -> Tensor", {}, outer_type},
    {"aten.addmv.default",
     "(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"},
    {"aten.addmv_.default",
     "(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.addr.default",
     "(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"},
    {"aten.vdot.default", "(Tensor self, Tensor other) -> Tensor"},
    {"aten.inner.default", "(Tensor self, Tensor other) -> Tensor"},
    {"aten.bilinear.default",
     "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor"},
    {"aten._trilinear.default",
     "(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
     "int unroll_dim=1) -> Tensor"},
    {"aten.tensordot.default",
     "(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor"},
    {"aten.cdist.default", "(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"},
    {"aten._cdist_forward.default", "(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor"},
    // A linear layer with what follows it: epilogue(input @ weight.T + bias) + residual. epilogue
    // is "none", "relu", "gelu", "gelu_tanh" or "silu"; the residual has the result's sizes.
    // products is "float32", "bfloat16" (input and weight are rounded to it, and what they give is
    // summed in float32) or "split" (they are sums of two bfloat16). Made and run by the CPU target
    // alone.
    {"unfuse.linear",
     "(Tensor input, Tensor weight, Tensor? bias=None, *, str epilogue=\"none\", "
     "Tensor? residual=None, str products=\"float32\") -> Tensor",
     {},
     linear_type},
    {"aten._addmm_activation.default",
     "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
     "bool use_gelu=False) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> matmul_ops() { return kRows; }

}  // namespace unfuse::ops
