// Softmax and its relatives.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.softmax.int",
     "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     {},
     softmax_type},
    {"aten._softmax.default",
     "(Tensor self, int dim, bool half_to_float) -> Tensor",
     {},
     plain_softmax_type},
    {"aten.log_softmax.int",
     "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     {},
     softmax_type},
    {"aten._log_softmax.default",
     "(Tensor self, int dim, bool half_to_float) -> Tensor",
     {},
     plain_softmax_type},
    {"aten._safe_softmax.default",
     "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     {},
     softmax_type},
    {"aten._masked_softmax.default",
     "(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor"},
    {"aten.special_softmax.default",
     "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     {},
     softmax_type},
};

}  // namespace

std::span<const OpInfo> softmax_ops() { return kRows; }

}  // namespace unfuse::ops
