// Result-type rules, by kind. A row of a family names the rule that fits its argument order.
// Every rule has the contract of ResultTypeRule (ir/op.h).
#pragma once

#include <vector>

#include "ir/argument.h"
#include "ir/type.h"

namespace unfuse::ops {

/// --- Pointwise (rules_pointwise.cc). Operands come first in the arguments; they are broadcast.
std::vector<Type> unary_type(const Arguments& arguments);            ///< dtype of the operand
std::vector<Type> unary_magnitude_type(const Arguments& arguments);  ///< real where it is complex
std::vector<Type> unary_floating_type(const Arguments& arguments);   ///< integers give float32
std::vector<Type> unary_bool_type(const Arguments& arguments);
std::vector<Type> binary_type(const Arguments& arguments);  ///< two operands, promoted
std::vector<Type> square_type(const Arguments& arguments);
std::vector<Type> reversed_binary_type(const Arguments& arguments);  ///< rsub.Tensor
std::vector<Type> number_power_type(const Arguments& arguments);     ///< pow.Scalar
std::vector<Type> binary_floating_type(const Arguments& arguments);  ///< integers give float32
std::vector<Type> binary_bool_type(const Arguments& arguments);
std::vector<Type> divide_mode_type(const Arguments& arguments);  ///< (self, other, rounding_mode)
std::vector<Type> float_power_type(const Arguments& arguments);  ///< float64
std::vector<Type> ternary_type(const Arguments& arguments);      ///< three operands, None left out
std::vector<Type> where_type(const Arguments& arguments);        ///< (condition, self, other)
std::vector<Type> masked_fill_type(const Arguments& arguments);  ///< (self, mask, value)
std::vector<Type> gated_type(const Arguments& arguments);        ///< glu (self, dim)
/// The first argument as it is, for ops that write into it or pass it on.
std::vector<Type> unchanged_type(const Arguments& arguments);

/// No result: assertions.
std::vector<Type> nothing_type(const Arguments& arguments);

/// --- Views (rules_views.cc; rules_slices.cc what cuts), with exact strides and offsets
std::vector<Type> view_type(const Arguments& arguments);
std::vector<Type> view_dtype_type(const Arguments& arguments);
std::vector<Type> reshape_type(const Arguments& arguments);
std::vector<Type> reshape_as_type(const Arguments& arguments);
std::vector<Type> view_as_type(const Arguments& arguments);
std::vector<Type> reshape_alias_type(const Arguments& arguments);
std::vector<Type> transpose_type(const Arguments& arguments);
std::vector<Type> t_type(const Arguments& arguments);
std::vector<Type> reverse_dimensions_type(const Arguments& arguments);  ///< numpy_T
std::vector<Type> matrix_transpose_type(const Arguments& arguments);    ///< mT
std::vector<Type> permute_type(const Arguments& arguments);
std::vector<Type> move_dimension_type(const Arguments& arguments);
std::vector<Type> expand_type(const Arguments& arguments);
std::vector<Type> expand_as_type(const Arguments& arguments);
std::vector<Type> broadcast_tensors_type(const Arguments& arguments);
std::vector<Type> meshgrid_type(const Arguments& arguments);
std::vector<Type> squeeze_type(const Arguments& arguments);
std::vector<Type> squeeze_dimensions_type(const Arguments& arguments);  ///< one dim or several
std::vector<Type> unsqueeze_type(const Arguments& arguments);
std::vector<Type> select_type(const Arguments& arguments);
std::vector<Type> slice_type(const Arguments& arguments);
std::vector<Type> narrow_type(const Arguments& arguments);
std::vector<Type> split_type(const Arguments& arguments);
std::vector<Type> split_sizes_type(const Arguments& arguments);
std::vector<Type> chunk_type(const Arguments& arguments);
std::vector<Type> tensor_split_type(const Arguments& arguments);          ///< into sections
std::vector<Type> tensor_split_indices_type(const Arguments& arguments);  ///< at indices
std::vector<Type> unbind_type(const Arguments& arguments);
std::vector<Type> unflatten_type(const Arguments& arguments);
std::vector<Type> flatten_type(const Arguments& arguments);
std::vector<Type> ravel_type(const Arguments& arguments);
std::vector<Type> as_strided_type(const Arguments& arguments);
std::vector<Type> diagonal_type(const Arguments& arguments);
std::vector<Type> unfold_type(const Arguments& arguments);
std::vector<Type> at_least_1d_type(const Arguments& arguments);
std::vector<Type> at_least_2d_type(const Arguments& arguments);
std::vector<Type> at_least_3d_type(const Arguments& arguments);

/// --- Copies (rules_copies.cc)
std::vector<Type> clone_type(const Arguments& arguments);
std::vector<Type> contiguous_type(const Arguments& arguments);
std::vector<Type> to_copy_type(const Arguments& arguments);
std::vector<Type> to_dtype_type(const Arguments& arguments);
std::vector<Type> to_device_type(const Arguments& arguments);
std::vector<Type> to_layout_type(const Arguments& arguments);
std::vector<Type> to_other_type(const Arguments& arguments);
std::vector<Type> type_as_type(const Arguments& arguments);
std::vector<Type> preserving_copy_type(const Arguments& arguments);  ///< of the first argument
std::vector<Type> contiguous_copy_type(const Arguments& arguments);  ///< of the first argument
std::vector<Type> repeat_type(const Arguments& arguments);
std::vector<Type> cat_type(const Arguments& arguments);
std::vector<Type> stack_type(const Arguments& arguments);
std::vector<Type> pad_type(const Arguments& arguments);
std::vector<Type> repeat_interleave_type(const Arguments& arguments);

/// --- Creation (rules_creation.cc)
std::vector<Type> full_type(const Arguments& arguments);
std::vector<Type> sized_type(const Arguments& arguments);  ///< zeros, ones, rand (size, dtype, ...)
std::vector<Type> empty_type(const Arguments& arguments);
std::vector<Type> full_like_type(const Arguments& arguments);
std::vector<Type> like_type(const Arguments& arguments);  ///< zeros_like (self, dtype, ...)
std::vector<Type> new_full_type(const Arguments& arguments);
std::vector<Type> new_sized_type(const Arguments& arguments);  ///< new_zeros (self, size, ...)
std::vector<Type> arange_type(const Arguments& arguments);
std::vector<Type> arange_start_type(const Arguments& arguments);
std::vector<Type> arange_step_type(const Arguments& arguments);
std::vector<Type> linspace_type(const Arguments& arguments);
std::vector<Type> scalar_tensor_type(const Arguments& arguments);
std::vector<Type> eye_type(const Arguments& arguments);
std::vector<Type> eye_m_type(const Arguments& arguments);

/// --- Reductions and scans (rules_reductions.cc)
std::vector<Type> sum_all_type(const Arguments& arguments);  ///< (self, dtype)
std::vector<Type> sum_type(const Arguments& arguments);      ///< (self, dim[], keepdim, dtype)
std::vector<Type> prod_type(const Arguments& arguments);     ///< (self, dim, keepdim, dtype)
std::vector<Type> mean_all_type(const Arguments& arguments);
std::vector<Type> mean_type(const Arguments& arguments);
std::vector<Type> extremum_all_type(const Arguments& arguments);    ///< max, min of everything
std::vector<Type> extremum_type(const Arguments& arguments);        ///< amax (self, dim[], keepdim)
std::vector<Type> extremum_index_type(const Arguments& arguments);  ///< max.dim: values, indices
std::vector<Type> any_all_type(const Arguments& arguments);         ///< any of everything
std::vector<Type> any_type(const Arguments& arguments);             ///< any.dim, any.dims
std::vector<Type> arg_extremum_type(const Arguments& arguments);  ///< argmax (self, dim?, keepdim)
std::vector<Type> variance_all_type(const Arguments& arguments);  ///< (self, unbiased)
std::vector<Type> variance_type(const Arguments& arguments);      ///< (self, dim[]?, x, keepdim)
std::vector<Type> variance_mean_type(const Arguments& arguments);
std::vector<Type> logsumexp_type(const Arguments& arguments);
std::vector<Type> vector_norm_type(const Arguments& arguments);
std::vector<Type> scan_type(const Arguments& arguments);  ///< cumsum (self, dim, dtype)
std::vector<Type> sort_type(const Arguments& arguments);  ///< values and indices of self's sizes
std::vector<Type> argsort_type(const Arguments& arguments);
std::vector<Type> topk_type(const Arguments& arguments);

/// --- Products (rules_matmul.cc)
std::vector<Type> linear_type(const Arguments& arguments);
std::vector<Type> mm_type(const Arguments& arguments);
std::vector<Type> bmm_type(const Arguments& arguments);
std::vector<Type> addmm_type(const Arguments& arguments);
std::vector<Type> baddbmm_type(const Arguments& arguments);
std::vector<Type> matmul_type(const Arguments& arguments);
std::vector<Type> dot_type(const Arguments& arguments);
std::vector<Type> mv_type(const Arguments& arguments);
std::vector<Type> outer_type(const Arguments& arguments);
std::vector<Type> attention_type(const Arguments& arguments);  ///< unfuse.attention
std::vector<Type> scaled_dot_product_attention_type(const Arguments& arguments);

/// --- Layers (rules_layers.cc)
std::vector<Type> layer_norm_type(const Arguments& arguments);
std::vector<Type> native_layer_norm_type(const Arguments& arguments);
std::vector<Type> normalized_type(const Arguments& arguments);  ///< contiguous, as the first is
std::vector<Type> native_batch_norm_type(const Arguments& arguments);
std::vector<Type> native_group_norm_type(const Arguments& arguments);
std::vector<Type> softmax_type(const Arguments& arguments);        ///< (self, dim, dtype?)
std::vector<Type> plain_softmax_type(const Arguments& arguments);  ///< (self, dim, half_to_float)
std::vector<Type> native_dropout_type(const Arguments& arguments);
std::vector<Type> conv_type(const Arguments& arguments);  ///< (..., stride, padding, dilation)
std::vector<Type> conv_padding_type(const Arguments& arguments);  ///< padding "same" or "valid"
std::vector<Type> convolution_type(const Arguments& arguments);
std::vector<Type> max_pool_type(const Arguments& arguments);
std::vector<Type> max_pool_with_indices_type(const Arguments& arguments);
std::vector<Type> avg_pool_type(const Arguments& arguments);
std::vector<Type> adaptive_pool_type(const Arguments& arguments);
std::vector<Type> resample_type(const Arguments& arguments);

/// --- Indexing (rules_indexing.cc)
std::vector<Type> embedding_type(const Arguments& arguments);
std::vector<Type> index_select_type(const Arguments& arguments);
std::vector<Type> gather_type(const Arguments& arguments);
std::vector<Type> index_type(const Arguments& arguments);
std::vector<Type> bucketize_type(const Arguments& arguments);

}  // namespace unfuse::ops
