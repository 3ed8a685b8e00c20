// Dropout, which is the identity in inference.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr Traits kRandom{.random = true};

constexpr OpInfo kRows[] = {
    {"aten.dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom},
    {"aten.dropout_.default", "(Tensor(a!) self, float p, bool train) -> Tensor(a!)", kRandom},
    {"aten.native_dropout.default", "(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     kRandom},
    {"aten.feature_dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom},
    {"aten.feature_dropout_.default", "(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     kRandom},
    {"aten.alpha_dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom},
    {"aten.alpha_dropout_.default", "(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     kRandom},
    {"aten.feature_alpha_dropout.default", "(Tensor input, float p, bool train) -> Tensor",
     kRandom},
};

}  // namespace

std::span<const OpInfo> dropout_ops() { return kRows; }

}  // namespace unfuse::ops
