// Normalisations.
#include "ops/families.h"
#include "ops/rules.h"

namespace unfuse::ops {
namespace {

constexpr OpInfo kRows[] = {
    {"aten.layer_norm.default",
     "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
     "float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
     {},
     layer_norm_type},
    {"aten.native_layer_norm.default",
     "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
     "float eps) -> (Tensor, Tensor, Tensor)",
     {},
     native_layer_norm_type},
    {"aten.batch_norm.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps, "
     "bool cudnn_enabled) -> Tensor",
     {},
     normalized_type},
    {"aten.native_batch_norm.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
     "Tensor)"},
    {"aten._native_batch_norm_legit.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
     "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, "
     "Tensor, Tensor)"},
    {"aten._native_batch_norm_legit.no_stats",
     "(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
     "float eps) -> (Tensor, Tensor, Tensor)"},
    {"aten._native_batch_norm_legit_no_training.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
     "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     {},
     native_batch_norm_type},
    {"aten._batch_norm_with_update.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
     "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor)"},
    {"aten._native_batch_norm_legit_functional.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
     "Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
     "Tensor, Tensor running_mean_out, Tensor running_var_out)"},
    {"aten.cudnn_batch_norm.default",
     "(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float exponential_average_factor, "
     "float epsilon) -> (Tensor, Tensor, Tensor, Tensor)"},
    {"aten._batch_norm_impl_index.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps, "
     "bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)"},
    {"aten.instance_norm.default",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool use_input_stats, float momentum, float eps, "
     "bool cudnn_enabled) -> Tensor",
     {},
     normalized_type},
    {"aten.group_norm.default",
     "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
     "float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
     {},
     normalized_type},
    {"aten.native_group_norm.default",
     "(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, "
     "int group, float eps) -> (Tensor, Tensor, Tensor)",
     {},
     native_group_norm_type},
    {"aten.rms_norm.default",
     "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
     "float? eps=None) -> Tensor",
     {},
     normalized_type},
    {"aten._fused_rms_norm.default",
     "(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, "
     "Tensor)"},
    {"aten._weight_norm.default", "(Tensor v, Tensor g, int dim=0) -> Tensor"},
    // Layer norm of input + residual, and the sum itself. Made and run by the CPU target alone.
    {"unfuse.add_layer_norm",
     "(Tensor input, Tensor residual, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
     "float eps) -> (Tensor normalized, Tensor sum)"},
    {"aten._weight_norm_interface.default", "(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)"},
};

}  // namespace

std::span<const OpInfo> norms_ops() { return kRows; }

}  // namespace unfuse::ops
