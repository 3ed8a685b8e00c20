// Ops that make tensors from sizes and numbers, or fill them.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kRandom{.random = true};
constexpr Traits kMetadataOnly{.reads_metadata_only = true};
constexpr Traits kRandomMetadataOnly{.random = true, .reads_metadata_only = true};
constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.full.default",
     "(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     full_type},
    {"aten.zeros.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     sized_type},
    {"aten.ones.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     sized_type},
    {"aten.empty.memory_format",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, "
     "MemoryFormat? memory_format=None) -> Tensor",
     {},
     empty_type},
    {"aten.empty_strided.default",
     "(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.eye.default",
     "(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     {},
     eye_type},
    {"aten.eye.m",
     "(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     eye_m_type},
    {"aten.rand.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kRandom, sized_type},
    {"aten.randn.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kRandom, sized_type},
    {"aten.randint.default",
     "(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kRandom},
    {"aten.randint.low",
     "(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     kRandom},
    {"aten.randperm.default",
     "(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     kRandom},
    {"aten.arange.default",
     "(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     {},
     arange_type},
    {"aten.arange.start",
     "(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     arange_start_type},
    {"aten.arange.start_step",
     "(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     arange_step_type},
    {"aten.linspace.default",
     "(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     {},
     linspace_type},
    {"aten.logspace.default",
     "(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.scalar_tensor.default",
     "(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     {},
     scalar_tensor_type},
    {"aten.cartesian_prod.default", "(Tensor[] tensors) -> Tensor"},
    {"aten.full_like.default",
     "(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, "
     "MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly, full_like_type},
    {"aten.zeros_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly, like_type},
    {"aten.ones_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly, like_type},
    {"aten.empty_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly, like_type},
    {"aten.rand_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kRandomMetadataOnly, like_type},
    {"aten.randn_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kRandomMetadataOnly, like_type},
    {"aten.new_full.default",
     "(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly, new_full_type},
    {"aten.new_zeros.default",
     "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly, new_sized_type},
    {"aten.new_ones.default",
     "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly, new_sized_type},
    {"aten.new_empty.default",
     "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly, new_sized_type},
    {"aten.new_empty_strided.default",
     "(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly},
    {"aten.lift_fresh_copy.default", "(Tensor self) -> Tensor", {}, contiguous_copy_type},
    {"aten.lift_fresh.default", "(Tensor(a) self) -> Tensor(a)", {}, unchanged_type},
    {"aten.lift.default", "(Tensor self) -> Tensor", {}, unchanged_type},
    {"aten.tril.default", "(Tensor self, SymInt diagonal=0) -> Tensor", {}, contiguous_copy_type},
    {"aten.triu.default", "(Tensor self, SymInt diagonal=0) -> Tensor", {}, contiguous_copy_type},
    {"aten.tril_.default",
     "(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.triu_.default",
     "(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)",
     {},
     unchanged_type},
    {"aten.tril_indices.default",
     "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.triu_indices.default",
     "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.fill.Scalar", "(Tensor self, Scalar value) -> Tensor", kPointwise, preserving_copy_type},
    {"aten.fill.Tensor", "(Tensor self, Tensor value) -> Tensor", {}, preserving_copy_type},
    {"aten.fill_.Scalar", "(Tensor(a!) self, Scalar value) -> Tensor(a!)", kPointwise,
     unchanged_type},
    {"aten.fill_.Tensor", "(Tensor(a!) self, Tensor value) -> Tensor(a!)", {}, unchanged_type},
    {"aten.zero.default", "(Tensor self) -> Tensor", kPointwise, preserving_copy_type},
    {"aten.zero_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise, unchanged_type},
    {"aten.bernoulli.p", "(Tensor self, float p, *, Generator? generator=None) -> Tensor", kRandom},
    {"aten.bernoulli.default", "(Tensor self, *, Generator? generator=None) -> Tensor", kRandom,
     contiguous_copy_type},
    {"aten.bernoulli_.float",
     "(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", kRandom,
     unchanged_type},
    {"aten.uniform_.default",
     "(Tensor(a!) self, float from=0., float to=1., *, "
     "Generator? generator=None) -> Tensor(a!)",
     kRandom, unchanged_type},
    {"aten.normal_.default",
     "(Tensor(a!) self, float mean=0., float std=1., *, "
     "Generator? generator=None) -> Tensor(a!)",
     kRandom, unchanged_type},
    {"aten.multinomial.default",
     "(Tensor self, SymInt num_samples, bool replacement=False, *, "
     "Generator? generator=None) -> Tensor",
     kRandom},
};

}  // namespace

std::span<const OpInfo> creation_ops() { return kRows; }

}  // namespace unfuse::ops
