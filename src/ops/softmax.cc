// Softmax and its relatives.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.softmax.int", "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
    {"aten._softmax.default", "(Tensor self, int dim, bool half_to_float) -> Tensor"},
    {"aten.log_softmax.int", "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
    {"aten._log_softmax.default", "(Tensor self, int dim, bool half_to_float) -> Tensor"},
    {"aten._safe_softmax.default", "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
    {"aten._masked_softmax.default",
     "(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor"},
    {"aten.special_softmax.default", "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> softmax_ops() { return kRows; }

}  // namespace unfuse::ops
