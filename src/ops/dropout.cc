// Dropout, which is the identity in inference.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr Traits kRandom{.random = true};

constexpr OpInfo kRows[] = {
    {"aten.dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom,
     unchanged_type},
    {"aten.dropout_.default", "(Tensor(a!) self, float p, bool train) -> Tensor(a!)", kRandom,
     unchanged_type},
    {"aten.native_dropout.default", "(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     kRandom, native_dropout_type},
    {"aten.feature_dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom,
     unchanged_type},
    {"aten.feature_dropout_.default", "(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     kRandom, unchanged_type},
    {"aten.alpha_dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom,
     unchanged_type},
    {"aten.alpha_dropout_.default", "(Tensor(a!) self, float p, bool train) -> Tensor(a!)", kRandom,
     unchanged_type},
    {"aten.feature_alpha_dropout.default", "(Tensor input, float p, bool train) -> Tensor", kRandom,
     unchanged_type},
};

}  // namespace

std::span<const OpInfo> dropout_ops() { return kRows; }

}  // namespace unfuse::ops
