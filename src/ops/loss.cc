// Losses.
#include "ops/families.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.mse_loss.default", "(Tensor self, Tensor target, int reduction=1) -> Tensor"},
    {"aten.nll_loss.default",
     "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
     "SymInt ignore_index=-100) -> Tensor"},
    {"aten.cross_entropy_loss.default",
     "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
     "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor"},
    {"aten.nll_loss_forward.default",
     "(Tensor self, Tensor target, Tensor? weight, int reduction, "
     "SymInt ignore_index) -> (Tensor output, Tensor total_weight)"},
    {"aten.smooth_l1_loss.default",
     "(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor"},
    {"aten.huber_loss.default",
     "(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor"},
    {"aten.binary_cross_entropy.default",
     "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor"},
    {"aten.binary_cross_entropy_with_logits.default",
     "(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
     "int reduction=1) -> Tensor"},
    {"aten.cosine_similarity.default",
     "(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"},
};

}  // namespace

std::span<const OpInfo> loss_ops() { return kRows; }

}  // namespace unfuse::ops
