// Reading and writing elements by index.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.embedding.default",
     "(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
     "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     {},
     embedding_type},
    {"aten.index_select.default",
     "(Tensor self, int dim, Tensor index) -> Tensor",
     {},
     index_select_type},
    {"aten.gather.default",
     "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     {},
     gather_type},
    {"aten.index.Tensor", "(Tensor self, Tensor?[] indices) -> Tensor", {}, index_type},
    {"aten.index_put.default",
     "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     {},
     preserving_copy_type},
    {"aten.index_put_.default",
     "(Tensor(a!) self, Tensor?[] indices, Tensor values, "
     "bool accumulate=False) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten._unsafe_index.Tensor", "(Tensor self, Tensor?[] indices) -> Tensor", {}, index_type},
    {"aten._unsafe_index_put.default",
     "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     {},
     preserving_copy_type},
    {"aten._unsafe_masked_index.default",
     "(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor"},
    {"aten.scatter.src",
     "(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.scatter.value",
     "(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.scatter_.src",
     "(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.scatter_.value",
     "(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.scatter_add.default",
     "(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.scatter_add_.default",
     "(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.scatter_reduce.two",
     "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
     "bool include_self=True) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.index_add.default",
     "(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.index_copy.default",
     "(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.index_fill.int_Scalar",
     "(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     {},
     preserving_copy_type},
    {"aten.index_fill_.int_Scalar",
     "(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.take.default", "(Tensor self, Tensor index) -> Tensor"},
    {"aten.take_along_dim.default", "(Tensor self, Tensor indices, int? dim=None) -> Tensor"},
    {"aten.masked_select.default", "(Tensor self, Tensor mask) -> Tensor"},
    {"aten.nonzero.default", "(Tensor self) -> Tensor"},
    {"aten.nonzero_numpy.default", "(Tensor self) -> Tensor[]"},
    {"aten.nonzero_static.default", "(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor"},
    {"aten.bucketize.Tensor",
     "(Tensor self, Tensor boundaries, *, bool out_int32=False, "
     "bool right=False) -> Tensor",
     {},
     bucketize_type},
    {"aten.searchsorted.Tensor",
     "(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
     "str? side=None, Tensor? sorter=None) -> Tensor"},
    {"aten.one_hot.default", "(Tensor self, int num_classes=-1) -> Tensor"},
    {"aten._unique2.default",
     "(Tensor self, bool sorted=True, bool return_inverse=False, "
     "bool return_counts=False) -> (Tensor, Tensor, Tensor)"},
    {"aten.bincount.default", "(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> indexing_ops() { return kRows; }

}  // namespace unfuse::ops
