// Copies, conversions, and ops that rearrange elements.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kPointwise{.pointwise = true};
constexpr Traits kPointwiseMaybeView{.pointwise = true, .maybe_view = true};
constexpr Traits kMaybeView{.maybe_view = true};

constexpr OpInfo kRows[] = {
    {"aten.clone.default", "(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     kPointwise, clone_type},
    {"aten.contiguous.default", "(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
     kPointwiseMaybeView, contiguous_type},
    {"aten._to_copy.default",
     "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, bool non_blocking=False, "
     "MemoryFormat? memory_format=None) -> Tensor",
     kPointwise, to_copy_type},
    {"aten.to.dtype",
     "(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     kPointwiseMaybeView, to_dtype_type},
    {"aten.to.device",
     "(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
     "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     kPointwiseMaybeView, to_device_type},
    {"aten.to.dtype_layout",
     "(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
     "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     kPointwiseMaybeView, to_layout_type},
    {"aten.to.other",
     "(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     kPointwiseMaybeView, to_other_type},
    {"aten.type_as.default", "(Tensor self, Tensor other) -> Tensor", kMaybeView, type_as_type},
    {"aten.copy.default", "(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     kPointwise, preserving_copy_type},
    {"aten.copy_.default", "(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
     kPointwise, unchanged_type},
    {"aten._conj.default", "(Tensor(a) self) -> Tensor(a)"},
    {"aten.resolve_conj.default", "(Tensor(a) self) -> Tensor(a)", kMaybeView, unchanged_type},
    {"aten.resolve_neg.default", "(Tensor(a) self) -> Tensor(a)", kMaybeView, unchanged_type},
    {"aten.slice_scatter.default",
     "(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
     "SymInt step=1) -> Tensor",
     {},
     preserving_copy_type},
    {"aten.select_scatter.default",
     "(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     {},
     preserving_copy_type},
    {"aten.diagonal_scatter.default",
     "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     {},
     preserving_copy_type},
    {"aten.as_strided_scatter.default",
     "(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
     "SymInt? storage_offset=None) -> Tensor"},
    {"aten.repeat.default", "(Tensor self, SymInt[] repeats) -> Tensor", {}, repeat_type},
    {"aten.tile.default", "(Tensor self, SymInt[] dims) -> Tensor"},
    {"aten.repeat_interleave.self_int",
     "(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
     {},
     repeat_interleave_type},
    {"aten.repeat_interleave.self_Tensor",
     "(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor"},
    {"aten.repeat_interleave.Tensor", "(Tensor repeats, *, SymInt? output_size=None) -> Tensor"},
    {"aten.cat.default", "(Tensor[] tensors, int dim=0) -> Tensor", {}, cat_type},
    {"aten.concat.default", "(Tensor[] tensors, int dim=0) -> Tensor", {}, cat_type},
    {"aten.concatenate.default", "(Tensor[] tensors, int dim=0) -> Tensor", {}, cat_type},
    {"aten.stack.default", "(Tensor[] tensors, int dim=0) -> Tensor", {}, stack_type},
    {"aten.hstack.default", "(Tensor[] tensors) -> Tensor"},
    {"aten.vstack.default", "(Tensor[] tensors) -> Tensor"},
    {"aten.dstack.default", "(Tensor[] tensors) -> Tensor"},
    {"aten.roll.default",
     "(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     {},
     contiguous_copy_type},
    {"aten.flip.default", "(Tensor self, int[] dims) -> Tensor", {}, preserving_copy_type},
    {"aten.fliplr.default", "(Tensor self) -> Tensor", {}, preserving_copy_type},
    {"aten.flipud.default", "(Tensor self) -> Tensor", {}, preserving_copy_type},
    {"aten.rot90.default", "(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor"},
    {"aten.pad.default",
     "(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     {},
     pad_type},
    {"aten.constant_pad_nd.default",
     "(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     {},
     pad_type},
    {"aten.reflection_pad1d.default", "(Tensor self, SymInt[2] padding) -> Tensor"},
    {"aten.reflection_pad2d.default", "(Tensor self, SymInt[4] padding) -> Tensor"},
    {"aten.replication_pad1d.default", "(Tensor self, SymInt[2] padding) -> Tensor"},
    {"aten.replication_pad2d.default", "(Tensor self, SymInt[4] padding) -> Tensor"},
    {"aten.pixel_shuffle.default", "(Tensor self, int upscale_factor) -> Tensor"},
    {"aten.pixel_unshuffle.default", "(Tensor self, int downscale_factor) -> Tensor"},
    {"aten.channel_shuffle.default", "(Tensor self, SymInt groups) -> Tensor"},
    {"aten.im2col.default",
     "(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
     "int[2] stride) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> copies_ops() { return kRows; }

}  // namespace unfuse::ops
