// Ops that make tensors from sizes and numbers, or fill them.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr Traits kRandom{.random = true};
constexpr Traits kMetadataOnly{.reads_metadata_only = true};
constexpr Traits kRandomMetadataOnly{.random = true, .reads_metadata_only = true};
constexpr Traits kPointwise{.pointwise = true};

constexpr OpInfo kRows[] = {
    {"aten.full.default",
     "(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.zeros.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.ones.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.empty.memory_format",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, "
     "MemoryFormat? memory_format=None) -> Tensor"},
    {"aten.empty_strided.default",
     "(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.eye.default",
     "(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor"},
    {"aten.eye.m",
     "(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.rand.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kRandom},
    {"aten.randn.default",
     "(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kRandom},
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
     "bool? pin_memory=None) -> Tensor"},
    {"aten.arange.start",
     "(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.arange.start_step",
     "(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.linspace.default",
     "(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.logspace.default",
     "(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.scalar_tensor.default",
     "(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor"},
    {"aten.full_like.default",
     "(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, "
     "MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly},
    {"aten.zeros_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly},
    {"aten.ones_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly},
    {"aten.empty_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kMetadataOnly},
    {"aten.rand_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kRandomMetadataOnly},
    {"aten.randn_like.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     kRandomMetadataOnly},
    {"aten.new_full.default",
     "(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly},
    {"aten.new_zeros.default",
     "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly},
    {"aten.new_ones.default",
     "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly},
    {"aten.new_empty.default",
     "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly},
    {"aten.new_empty_strided.default",
     "(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     kMetadataOnly},
    {"aten.lift_fresh_copy.default", "(Tensor self) -> Tensor"},
    {"aten.lift_fresh.default", "(Tensor(a) self) -> Tensor(a)"},
    {"aten.lift.default", "(Tensor self) -> Tensor"},
    {"aten.tril.default", "(Tensor self, SymInt diagonal=0) -> Tensor"},
    {"aten.triu.default", "(Tensor self, SymInt diagonal=0) -> Tensor"},
    {"aten.tril_.default", "(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)"},
    {"aten.triu_.default", "(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)"},
    {"aten.tril_indices.default",
     "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.triu_indices.default",
     "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor"},
    {"aten.fill.Scalar", "(Tensor self, Scalar value) -> Tensor", kPointwise},
    {"aten.fill.Tensor", "(Tensor self, Tensor value) -> Tensor"},
    {"aten.fill_.Scalar", "(Tensor(a!) self, Scalar value) -> Tensor(a!)", kPointwise},
    {"aten.fill_.Tensor", "(Tensor(a!) self, Tensor value) -> Tensor(a!)"},
    {"aten.zero.default", "(Tensor self) -> Tensor", kPointwise},
    {"aten.zero_.default", "(Tensor(a!) self) -> Tensor(a!)", kPointwise},
    {"aten.bernoulli.p", "(Tensor self, float p, *, Generator? generator=None) -> Tensor", kRandom},
    {"aten.bernoulli.default", "(Tensor self, *, Generator? generator=None) -> Tensor", kRandom},
    {"aten.bernoulli_.float",
     "(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", kRandom},
    {"aten.uniform_.default",
     "(Tensor(a!) self, float from=0., float to=1., *, "
     "Generator? generator=None) -> Tensor(a!)",
     kRandom},
    {"aten.normal_.default",
     "(Tensor(a!) self, float mean=0., float std=1., *, "
     "Generator? generator=None) -> Tensor(a!)",
     kRandom},
    {"aten.multinomial.default",
     "(Tensor self, SymInt num_samples, bool replacement=False, *, "
     "Generator? generator=None) -> Tensor",
     kRandom},
};

}  // namespace

std::span<const OpInfo> creation_ops() { return kRows; }

}  // namespace unfuse::ops
