// ATen through a Builder: a function an op, so that passes read like the PyTorch they stand for.
// Arguments, defaults and meanings are those of torch.ops.aten; every function inserts the node it
// is named after and returns its result. Errors are those of Builder::node: kInvalidArgument when
// the arguments do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace unfuse::ops::aten {

using Dims = std::vector<Dim>;
using Values = std::vector<Value*>;
using Dimensions = std::vector<std::int64_t>;

/// --- Products
/// input @ weight.T + bias: [..., I] x [O, I] (+ [O], may be null) -> [..., O].
Value* linear(Builder& b, Value* input, Value* weight, Value* bias = nullptr);
/// Batched product with broadcasting; 1-d operands are a row and a column.
Value* matmul(Builder& b, Value* left, Value* right);
/// [N, K] x [K, M] -> [N, M].
Value* mm(Builder& b, Value* left, Value* right);
/// [B, N, K] x [B, K, M] -> [B, N, M].
Value* bmm(Builder& b, Value* left, Value* right);
/// input * beta + alpha * (left @ right).
Value* addmm(Builder& b, Value* input, Value* left, Value* right, const Argument& beta = 1,
             const Argument& alpha = 1);
/// addmm, batched.
Value* baddbmm(Builder& b, Value* input, Value* left, Value* right, const Argument& beta = 1,
               const Argument& alpha = 1);

/// --- Layers
/// Over the last normalized_shape.size() dimensions; weight and bias may be null.
Value* layer_norm(Builder& b, Value* input, Dims normalized_shape, Value* weight, Value* bias,
                  double eps = 1e-5);
/// In inference, with running statistics [C]; weight and bias may be null.
Value* batch_norm(Builder& b, Value* input, Value* weight, Value* bias, Value* running_mean,
                  Value* running_var, double eps = 1e-5);
/// Over groups of channels; weight and bias [C] may be null.
Value* group_norm(Builder& b, Value* input, std::int64_t groups, Value* weight, Value* bias,
                  double eps = 1e-5);
/// Over the last dimensions, by the root of the mean square; weight may be null, eps the dtype's.
Value* rms_norm(Builder& b, Value* input, Dims normalized_shape, Value* weight,
                std::optional<double> eps = std::nullopt);
/// Rows of weight [V, E] at indices [...] -> [..., E].
Value* embedding(Builder& b, Value* weight, Value* indices);
/// [N, C, L] x [O, C/groups, K] -> [N, O, L']; bias may be null.
Value* conv1d(Builder& b, Value* input, Value* weight, Value* bias, Dims stride, Dims padding,
              Dims dilation = {1}, const Dim& groups = 1);
/// [N, C, H, W] x [O, C/groups, KH, KW] -> [N, O, H', W']; bias may be null.
Value* conv2d(Builder& b, Value* input, Value* weight, Value* bias, Dims stride, Dims padding,
              Dims dilation = {1, 1}, const Dim& groups = 1);
/// Greatest element of each window of the last two dimensions.
Value* max_pool2d(Builder& b, Value* self, Dims kernel_size, Dims stride, Dims padding,
                  Dims dilation = {1, 1}, bool ceil_mode = false);
/// Mean of each of output_size windows that share out the last two dimensions.
Value* adaptive_avg_pool2d(Builder& b, Value* self, Dims output_size);
/// Softmax over one dimension, converted to `dtype` first when given.
Value* softmax(Builder& b, Value* self, std::int64_t dim,
               std::optional<DType> dtype = std::nullopt);
/// log(softmax), computed stably.
Value* log_softmax(Builder& b, Value* self, std::int64_t dim,
                   std::optional<DType> dtype = std::nullopt);
/// Softmax that gives zeros for a row of minus infinities.
Value* safe_softmax(Builder& b, Value* self, std::int64_t dim);

/// What unfuse.attention takes beside query, key and value.
struct AttentionOptions {
  Value* mask = nullptr;          ///< bool (true = attend) or float (added); null for none
  std::optional<double> scale;    ///< 1 / sqrt(D) by default
  bool is_causal = false;         ///< top-left aligned; together with a mask too
  bool zero_fully_masked = true;  ///< else NaN for a row whose keys are all masked
};
/// unfuse.attention: [..., H, L, D] x [..., Hkv, S, D] x [..., Hkv, S, D] -> [..., H, L, D].
Value* attention(Builder& b, Value* query, Value* key, Value* value,
                 const AttentionOptions& options = {});
/// PyTorch's own.
Value* scaled_dot_product_attention(Builder& b, Value* query, Value* key, Value* value,
                                    Value* mask = nullptr, bool is_causal = false,
                                    std::optional<double> scale = std::nullopt,
                                    bool enable_gqa = false);

/// --- Activations
/// max(x, 0).
Value* relu(Builder& b, Value* self);
/// x * Phi(x); approximate is "none" (erf) or "tanh".
Value* gelu(Builder& b, Value* self, const std::string& approximate = "none");
/// x * sigmoid(x).
Value* silu(Builder& b, Value* self);
/// 1 / (1 + exp(-x)).
Value* sigmoid(Builder& b, Value* self);
/// Hyperbolic tangent.
Value* tanh(Builder& b, Value* self);

/// --- Arithmetic; `other` is a Value* or a number, and the overload follows it
/// self + alpha * other.
Value* add(Builder& b, Value* self, const Argument& other, const Argument& alpha = 1);
/// self - alpha * other.
Value* sub(Builder& b, Value* self, const Argument& other, const Argument& alpha = 1);
/// self * other.
Value* mul(Builder& b, Value* self, const Argument& other);
/// True division; rounding_mode "floor" or "trunc" rounds.
Value* div(Builder& b, Value* self, const Argument& other,
           const std::optional<std::string>& rounding_mode = std::nullopt);
/// self ** exponent.
Value* pow(Builder& b, Value* self, const Argument& exponent);
/// Elementwise greater one.
Value* maximum(Builder& b, Value* self, Value* other);
/// Elementwise lesser one.
Value* minimum(Builder& b, Value* self, Value* other);
/// Within [min, max]; either may be None.
Value* clamp(Builder& b, Value* self, const Argument& min, const Argument& max = nullptr);
/// -x.
Value* neg(Builder& b, Value* self);
/// |x|.
Value* abs(Builder& b, Value* self);
/// e ** x.
Value* exp(Builder& b, Value* self);
/// Natural logarithm.
Value* log(Builder& b, Value* self);
/// Square root.
Value* sqrt(Builder& b, Value* self);
/// 1 / sqrt(x).
Value* rsqrt(Builder& b, Value* self);
/// 1 / x.
Value* reciprocal(Builder& b, Value* self);
/// Error function.
Value* erf(Builder& b, Value* self);

/// --- Comparisons and logic; bool results
Value* eq(Builder& b, Value* self, const Argument& other);  ///< self == other
Value* ne(Builder& b, Value* self, const Argument& other);  ///< self != other
Value* lt(Builder& b, Value* self, const Argument& other);  ///< self < other
Value* le(Builder& b, Value* self, const Argument& other);  ///< self <= other
Value* gt(Builder& b, Value* self, const Argument& other);  ///< self > other
Value* ge(Builder& b, Value* self, const Argument& other);  ///< self >= other
Value* logical_not(Builder& b, Value* self);                ///< true where zero
Value* logical_and(Builder& b, Value* self, Value* other);  ///< true where both are nonzero
Value* logical_or(Builder& b, Value* self, Value* other);   ///< true where one is nonzero
Value* isnan(Builder& b, Value* self);                      ///< true where NaN
Value* isinf(Builder& b, Value* self);                      ///< true where infinite
/// `self` where condition, else `other`; one of the two may be a number.
Value* where(Builder& b, Value* condition, const Argument& self, const Argument& other);
/// `value`, a number or a 0-d tensor, where mask, else self.
Value* masked_fill(Builder& b, Value* self, Value* mask, const Argument& value);

/// --- Views; no element moves
/// Other sizes over the same elements; one may be -1. Throws when strides forbid it.
Value* view(Builder& b, Value* self, Dims sizes);
/// view, or a copy when strides forbid one.
Value* reshape(Builder& b, Value* self, Dims sizes);
/// Swaps two dimensions.
Value* transpose(Builder& b, Value* self, std::int64_t first, std::int64_t second);
/// Swaps the two dimensions of a matrix.
Value* t(Builder& b, Value* self);
/// Dimensions in this order.
Value* permute(Builder& b, Value* self, const Dimensions& order);
/// Repeats dimensions of size 1 without copying; -1 keeps a size.
Value* expand(Builder& b, Value* self, Dims sizes);
/// Inserts a dimension of size 1.
Value* unsqueeze(Builder& b, Value* self, std::int64_t dim);
/// Removes a dimension if its size is 1.
Value* squeeze(Builder& b, Value* self, std::int64_t dim);
/// The index-th slice, without its dimension.
Value* select(Builder& b, Value* self, std::int64_t dim, const Dim& index);
/// self[start:end:step] of one dimension; None is open.
Value* slice(Builder& b, Value* self, std::int64_t dim, const Argument& start, const Argument& end,
             std::int64_t step = 1);
/// `length` elements of one dimension from start on.
Value* narrow(Builder& b, Value* self, std::int64_t dim, const Dim& start, const Dim& length);
/// Pieces of `length`, the last one maybe shorter.
Values split(Builder& b, Value* self, const Dim& length, std::int64_t dim = 0);
/// Pieces of these lengths.
Values split_with_sizes(Builder& b, Value* self, Dims lengths, std::int64_t dim = 0);
/// At most `count` pieces of one length, the last one maybe shorter.
Values chunk(Builder& b, Value* self, std::int64_t count, std::int64_t dim = 0);
/// Every slice of a dimension.
Values unbind(Builder& b, Value* self, std::int64_t dim = 0);
/// One dimension becomes several; one size may be -1.
Value* unflatten(Builder& b, Value* self, std::int64_t dim, Dims sizes);
/// Dimensions from first to last become one.
Value* flatten(Builder& b, Value* self, std::int64_t first = 0, std::int64_t last = -1);

/// --- Copies
/// A dense copy in the same dimension order.
Value* clone(Builder& b, Value* self);
/// A row-major copy; the tensor itself when it is that already.
Value* contiguous(Builder& b, Value* self);
/// Converted; the tensor itself, and no node, when it has the dtype already.
Value* to_dtype(Builder& b, Value* self, DType dtype);
/// Put together along a dimension.
Value* cat(Builder& b, Values tensors, std::int64_t dim = 0);
/// Put together along a new dimension.
Value* stack(Builder& b, Values tensors, std::int64_t dim = 0);
/// Each dimension repeated so many times, copied.
Value* repeat(Builder& b, Value* self, Dims counts);
/// Padded with a number: (left, right) pairs from the last dimension on.
Value* constant_pad_nd(Builder& b, Value* self, Dims padding, const Argument& value = 0);
/// Rows of `self` along a dimension at a 1-d index.
Value* index_select(Builder& b, Value* self, std::int64_t dim, Value* index);
/// self with src written at self[start:end:step] of a dimension.
Value* slice_scatter(Builder& b, Value* self, Value* src, std::int64_t dim, const Argument& start,
                     const Argument& end, std::int64_t step = 1);
/// self with src written at the index-th slice of a dimension.
Value* select_scatter(Builder& b, Value* self, Value* src, std::int64_t dim, const Dim& index);

/// --- Reductions; no dimensions means all
/// Sum; of bools and integers in int64.
Value* sum(Builder& b, Value* self, const Dimensions& dims = {}, bool keepdim = false,
           std::optional<DType> dtype = std::nullopt);
/// Arithmetic mean.
Value* mean(Builder& b, Value* self, const Dimensions& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = std::nullopt);
/// Greatest element.
Value* amax(Builder& b, Value* self, const Dimensions& dims = {}, bool keepdim = false);
/// Least element.
Value* amin(Builder& b, Value* self, const Dimensions& dims = {}, bool keepdim = false);
/// Whether some element is nonzero.
Value* any(Builder& b, Value* self, const Dimensions& dims = {}, bool keepdim = false);
/// Whether every element is nonzero.
Value* all(Builder& b, Value* self, const Dimensions& dims = {}, bool keepdim = false);

/// --- Creation
/// One number everywhere; its own dtype by default (bool, int64, float32).
Value* full(Builder& b, Dims sizes, const Argument& value,
            std::optional<DType> dtype = std::nullopt);
/// One number everywhere, in self's sizes and dtype.
Value* full_like(Builder& b, Value* self, const Argument& value);
/// Zeros.
Value* zeros(Builder& b, Dims sizes, DType dtype);
/// Ones.
Value* ones(Builder& b, Dims sizes, DType dtype);
/// start, start + step, ... below end.
Value* arange(Builder& b, const Argument& start, const Argument& end, const Argument& step,
              DType dtype);
/// A 0-d tensor.
Value* scalar_tensor(Builder& b, const Argument& value, DType dtype);
/// self on and below the diagonal, zeros above.
Value* tril(Builder& b, Value* self, std::int64_t diagonal = 0);
/// self on and above the diagonal, zeros below.
Value* triu(Builder& b, Value* self, std::int64_t diagonal = 0);

}  // namespace unfuse::ops::aten
