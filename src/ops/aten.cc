#include "ops/aten.h"

#include <string_view>
#include <utility>

#include "ops/catalogue.h"

namespace unfuse::ops::aten {
namespace {

Value* call(Builder& b, std::string_view op, Arguments arguments,
            const std::vector<KeywordArgument>& keywords = {}) {
  return b.call(get(op), std::move(arguments), keywords);
}

Values call_list(Builder& b, std::string_view op, Arguments arguments) {
  return b.node(get(op), std::move(arguments))->results();
}

/// The overload for a tensor or for a number: "aten.add.Tensor" or "aten.add.Scalar".
std::string overload(const char* name, const Argument& other) {
  return std::string("aten.") + name + (other.is_value() ? ".Tensor" : ".Scalar");
}

Argument dtype_or_none(std::optional<DType> dtype) { return dtype ? Argument(*dtype) : Argument(); }

Argument number_or_none(std::optional<double> number) {
  return number ? Argument(*number) : Argument();
}

/// Reductions that take a list of dimensions take an empty one for all.
Value* reduce(Builder& b, std::string_view op, Value* self, const Dimensions& dims, bool keepdim) {
  return call(b, op, {self, Argument::ints(dims), keepdim});
}

/// In any.dims and all.dims an empty list reduces nothing, None everything.
Value* reduce_truth(Builder& b, std::string_view op, Value* self, const Dimensions& dims,
                    bool keepdim) {
  const Argument list = dims.empty() ? Argument() : Argument::ints(dims);
  return call(b, op, {self, list, keepdim});
}

}  // namespace

Value* linear(Builder& b, Value* input, Value* weight, Value* bias) {
  return call(b, "aten.linear.default", {input, weight, bias});
}

Value* matmul(Builder& b, Value* left, Value* right) {
  return call(b, "aten.matmul.default", {left, right});
}

Value* mm(Builder& b, Value* left, Value* right) {
  return call(b, "aten.mm.default", {left, right});
}

Value* bmm(Builder& b, Value* left, Value* right) {
  return call(b, "aten.bmm.default", {left, right});
}

Value* addmm(Builder& b, Value* input, Value* left, Value* right, const Argument& beta,
             const Argument& alpha) {
  return call(b, "aten.addmm.default", {input, left, right}, {{"beta", beta}, {"alpha", alpha}});
}

Value* baddbmm(Builder& b, Value* input, Value* left, Value* right, const Argument& beta,
               const Argument& alpha) {
  return call(b, "aten.baddbmm.default", {input, left, right}, {{"beta", beta}, {"alpha", alpha}});
}

Value* layer_norm(Builder& b, Value* input, Dims normalized_shape, Value* weight, Value* bias,
                  double eps) {
  return call(b, "aten.layer_norm.default",
              {input, std::move(normalized_shape), weight, bias, eps});
}

Value* batch_norm(Builder& b, Value* input, Value* weight, Value* bias, Value* running_mean,
                  Value* running_var, double eps) {
  return call(b, "aten.batch_norm.default",
              {input, weight, bias, running_mean, running_var, /*training=*/false,
               /*momentum=*/0.1, eps, /*cudnn_enabled=*/false});
}

Value* group_norm(Builder& b, Value* input, std::int64_t groups, Value* weight, Value* bias,
                  double eps) {
  return call(b, "aten.group_norm.default",
              {input, groups, weight, bias, eps, /*cudnn_enabled=*/false});
}

Value* rms_norm(Builder& b, Value* input, Dims normalized_shape, Value* weight,
                std::optional<double> eps) {
  return call(b, "aten.rms_norm.default",
              {input, std::move(normalized_shape), weight, number_or_none(eps)});
}

Value* embedding(Builder& b, Value* weight, Value* indices) {
  return call(b, "aten.embedding.default", {weight, indices});
}

Value* conv1d(Builder& b, Value* input, Value* weight, Value* bias, Dims stride, Dims padding,
              Dims dilation, const Dim& groups) {
  return call(
      b, "aten.conv1d.default",
      {input, weight, bias, std::move(stride), std::move(padding), std::move(dilation), groups});
}

Value* conv2d(Builder& b, Value* input, Value* weight, Value* bias, Dims stride, Dims padding,
              Dims dilation, const Dim& groups) {
  return call(
      b, "aten.conv2d.default",
      {input, weight, bias, std::move(stride), std::move(padding), std::move(dilation), groups});
}

Value* max_pool2d(Builder& b, Value* self, Dims kernel_size, Dims stride, Dims padding,
                  Dims dilation, bool ceil_mode) {
  return call(b, "aten.max_pool2d.default",
              {self, std::move(kernel_size), std::move(stride), std::move(padding),
               std::move(dilation), ceil_mode});
}

Value* adaptive_avg_pool2d(Builder& b, Value* self, Dims output_size) {
  return call(b, "aten.adaptive_avg_pool2d.default", {self, std::move(output_size)});
}

Value* softmax(Builder& b, Value* self, std::int64_t dim, std::optional<DType> dtype) {
  return call(b, "aten.softmax.int", {self, dim, dtype_or_none(dtype)});
}

Value* log_softmax(Builder& b, Value* self, std::int64_t dim, std::optional<DType> dtype) {
  return call(b, "aten.log_softmax.int", {self, dim, dtype_or_none(dtype)});
}

Value* safe_softmax(Builder& b, Value* self, std::int64_t dim) {
  return call(b, "aten._safe_softmax.default", {self, dim});
}

Value* attention(Builder& b, Value* query, Value* key, Value* value,
                 const AttentionOptions& options) {
  return call(b, "unfuse.attention", {query, key, value, options.mask},
              {{"scale", number_or_none(options.scale)},
               {"is_causal", options.is_causal},
               {"zero_fully_masked", options.zero_fully_masked}});
}

Value* scaled_dot_product_attention(Builder& b, Value* query, Value* key, Value* value, Value* mask,
                                    bool is_causal, std::optional<double> scale, bool enable_gqa) {
  return call(b, "aten.scaled_dot_product_attention.default",
              {query, key, value, mask, /*dropout_p=*/0.0, is_causal},
              {{"scale", number_or_none(scale)}, {"enable_gqa", enable_gqa}});
}

Value* relu(Builder& b, Value* self) { return call(b, "aten.relu.default", {self}); }

Value* gelu(Builder& b, Value* self, const std::string& approximate) {
  return call(b, "aten.gelu.default", {self}, {{"approximate", approximate}});
}

Value* silu(Builder& b, Value* self) { return call(b, "aten.silu.default", {self}); }
Value* sigmoid(Builder& b, Value* self) { return call(b, "aten.sigmoid.default", {self}); }
Value* tanh(Builder& b, Value* self) { return call(b, "aten.tanh.default", {self}); }

Value* add(Builder& b, Value* self, const Argument& other, const Argument& alpha) {
  // alpha is a keyword of add.Tensor and the third argument of add.Scalar.
  if (other.is_value()) return call(b, "aten.add.Tensor", {self, other}, {{"alpha", alpha}});
  return call(b, "aten.add.Scalar", {self, other, alpha});
}

Value* sub(Builder& b, Value* self, const Argument& other, const Argument& alpha) {
  if (other.is_value()) return call(b, "aten.sub.Tensor", {self, other}, {{"alpha", alpha}});
  return call(b, "aten.sub.Scalar", {self, other, alpha});
}

Value* mul(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("mul", other), {self, other});
}

Value* div(Builder& b, Value* self, const Argument& other,
           const std::optional<std::string>& rounding_mode) {
  const std::string name = overload("div", other);
  if (!rounding_mode) return call(b, name, {self, other});
  return call(b, name + "_mode", {self, other}, {{"rounding_mode", *rounding_mode}});
}

Value* pow(Builder& b, Value* self, const Argument& exponent) {
  const bool tensor = exponent.is_value();
  return call(b, tensor ? "aten.pow.Tensor_Tensor" : "aten.pow.Tensor_Scalar", {self, exponent});
}

Value* maximum(Builder& b, Value* self, Value* other) {
  return call(b, "aten.maximum.default", {self, other});
}

Value* minimum(Builder& b, Value* self, Value* other) {
  return call(b, "aten.minimum.default", {self, other});
}

Value* clamp(Builder& b, Value* self, const Argument& min, const Argument& max) {
  const bool tensors = min.is_value() || max.is_value();
  return call(b, tensors ? "aten.clamp.Tensor" : "aten.clamp.default", {self, min, max});
}

Value* neg(Builder& b, Value* self) { return call(b, "aten.neg.default", {self}); }
Value* abs(Builder& b, Value* self) { return call(b, "aten.abs.default", {self}); }
Value* exp(Builder& b, Value* self) { return call(b, "aten.exp.default", {self}); }
Value* log(Builder& b, Value* self) { return call(b, "aten.log.default", {self}); }
Value* sqrt(Builder& b, Value* self) { return call(b, "aten.sqrt.default", {self}); }
Value* rsqrt(Builder& b, Value* self) { return call(b, "aten.rsqrt.default", {self}); }
Value* reciprocal(Builder& b, Value* self) { return call(b, "aten.reciprocal.default", {self}); }
Value* erf(Builder& b, Value* self) { return call(b, "aten.erf.default", {self}); }

Value* eq(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("eq", other), {self, other});
}

Value* ne(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("ne", other), {self, other});
}

Value* lt(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("lt", other), {self, other});
}

Value* le(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("le", other), {self, other});
}

Value* gt(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("gt", other), {self, other});
}

Value* ge(Builder& b, Value* self, const Argument& other) {
  return call(b, overload("ge", other), {self, other});
}

Value* logical_not(Builder& b, Value* self) { return call(b, "aten.logical_not.default", {self}); }

Value* logical_and(Builder& b, Value* self, Value* other) {
  return call(b, "aten.logical_and.default", {self, other});
}

Value* logical_or(Builder& b, Value* self, Value* other) {
  return call(b, "aten.logical_or.default", {self, other});
}

Value* isnan(Builder& b, Value* self) { return call(b, "aten.isnan.default", {self}); }
Value* isinf(Builder& b, Value* self) { return call(b, "aten.isinf.default", {self}); }

Value* where(Builder& b, Value* condition, const Argument& self, const Argument& other) {
  const char* op = self.is_value()
                       ? (other.is_value() ? "aten.where.self" : "aten.where.ScalarOther")
                   : other.is_value() ? "aten.where.ScalarSelf"
                                      : "aten.where.Scalar";
  return call(b, op, {condition, self, other});
}

Value* masked_fill(Builder& b, Value* self, Value* mask, const Argument& value) {
  return call(b, overload("masked_fill", value), {self, mask, value});
}

Value* view(Builder& b, Value* self, Dims sizes) {
  return call(b, "aten.view.default", {self, std::move(sizes)});
}

Value* reshape(Builder& b, Value* self, Dims sizes) {
  return call(b, "aten.reshape.default", {self, std::move(sizes)});
}

Value* transpose(Builder& b, Value* self, std::int64_t first, std::int64_t second) {
  return call(b, "aten.transpose.int", {self, first, second});
}

Value* t(Builder& b, Value* self) { return call(b, "aten.t.default", {self}); }

Value* permute(Builder& b, Value* self, const Dimensions& order) {
  return call(b, "aten.permute.default", {self, Argument::ints(order)});
}

Value* expand(Builder& b, Value* self, Dims sizes) {
  return call(b, "aten.expand.default", {self, std::move(sizes)});
}

Value* unsqueeze(Builder& b, Value* self, std::int64_t dim) {
  return call(b, "aten.unsqueeze.default", {self, dim});
}

Value* squeeze(Builder& b, Value* self, std::int64_t dim) {
  return call(b, "aten.squeeze.dim", {self, dim});
}

Value* select(Builder& b, Value* self, std::int64_t dim, const Dim& index) {
  return call(b, "aten.select.int", {self, dim, index});
}

Value* slice(Builder& b, Value* self, std::int64_t dim, const Argument& start, const Argument& end,
             std::int64_t step) {
  return call(b, "aten.slice.Tensor", {self, dim, start, end, step});
}

Value* narrow(Builder& b, Value* self, std::int64_t dim, const Dim& start, const Dim& length) {
  return call(b, "aten.narrow.default", {self, dim, start, length});
}

Values split(Builder& b, Value* self, const Dim& length, std::int64_t dim) {
  return call_list(b, "aten.split.Tensor", {self, length, dim});
}

Values split_with_sizes(Builder& b, Value* self, Dims lengths, std::int64_t dim) {
  return call_list(b, "aten.split_with_sizes.default", {self, std::move(lengths), dim});
}

Values chunk(Builder& b, Value* self, std::int64_t count, std::int64_t dim) {
  return call_list(b, "aten.chunk.default", {self, count, dim});
}

Values unbind(Builder& b, Value* self, std::int64_t dim) {
  return call_list(b, "aten.unbind.int", {self, dim});
}

Value* unflatten(Builder& b, Value* self, std::int64_t dim, Dims sizes) {
  return call(b, "aten.unflatten.int", {self, dim, std::move(sizes)});
}

Value* flatten(Builder& b, Value* self, std::int64_t first, std::int64_t last) {
  return call(b, "aten.flatten.using_ints", {self, first, last});
}

Value* clone(Builder& b, Value* self) { return call(b, "aten.clone.default", {self}); }
Value* contiguous(Builder& b, Value* self) { return call(b, "aten.contiguous.default", {self}); }

Value* to_dtype(Builder& b, Value* self, DType dtype) {
  if (self->dtype() == dtype) return self;
  return call(b, "aten._to_copy.default", {self}, {{"dtype", dtype}});
}

Value* cat(Builder& b, Values tensors, std::int64_t dim) {
  return call(b, "aten.cat.default", {std::move(tensors), dim});
}

Value* stack(Builder& b, Values tensors, std::int64_t dim) {
  return call(b, "aten.stack.default", {std::move(tensors), dim});
}

Value* repeat(Builder& b, Value* self, Dims counts) {
  return call(b, "aten.repeat.default", {self, std::move(counts)});
}

Value* constant_pad_nd(Builder& b, Value* self, Dims padding, const Argument& value) {
  return call(b, "aten.constant_pad_nd.default", {self, std::move(padding), value});
}

Value* index_select(Builder& b, Value* self, std::int64_t dim, Value* index) {
  return call(b, "aten.index_select.default", {self, dim, index});
}

Value* slice_scatter(Builder& b, Value* self, Value* src, std::int64_t dim, const Argument& start,
                     const Argument& end, std::int64_t step) {
  return call(b, "aten.slice_scatter.default", {self, src, dim, start, end, step});
}

Value* select_scatter(Builder& b, Value* self, Value* src, std::int64_t dim, const Dim& index) {
  return call(b, "aten.select_scatter.default", {self, src, dim, index});
}

Value* sum(Builder& b, Value* self, const Dimensions& dims, bool keepdim,
           std::optional<DType> dtype) {
  return call(b, "aten.sum.dim_IntList", {self, Argument::ints(dims), keepdim},
              {{"dtype", dtype_or_none(dtype)}});
}

Value* mean(Builder& b, Value* self, const Dimensions& dims, bool keepdim,
            std::optional<DType> dtype) {
  return call(b, "aten.mean.dim", {self, Argument::ints(dims), keepdim},
              {{"dtype", dtype_or_none(dtype)}});
}

Value* amax(Builder& b, Value* self, const Dimensions& dims, bool keepdim) {
  return reduce(b, "aten.amax.default", self, dims, keepdim);
}

Value* amin(Builder& b, Value* self, const Dimensions& dims, bool keepdim) {
  return reduce(b, "aten.amin.default", self, dims, keepdim);
}

Value* any(Builder& b, Value* self, const Dimensions& dims, bool keepdim) {
  return reduce_truth(b, "aten.any.dims", self, dims, keepdim);
}

Value* all(Builder& b, Value* self, const Dimensions& dims, bool keepdim) {
  return reduce_truth(b, "aten.all.dims", self, dims, keepdim);
}

Value* full(Builder& b, Dims sizes, const Argument& value, std::optional<DType> dtype) {
  return call(b, "aten.full.default", {std::move(sizes), value}, {{"dtype", dtype_or_none(dtype)}});
}

Value* full_like(Builder& b, Value* self, const Argument& value) {
  return call(b, "aten.full_like.default", {self, value});
}

Value* zeros(Builder& b, Dims sizes, DType dtype) {
  return call(b, "aten.zeros.default", {std::move(sizes)}, {{"dtype", dtype}});
}

Value* ones(Builder& b, Dims sizes, DType dtype) {
  return call(b, "aten.ones.default", {std::move(sizes)}, {{"dtype", dtype}});
}

Value* arange(Builder& b, const Argument& start, const Argument& end, const Argument& step,
              DType dtype) {
  return call(b, "aten.arange.start_step", {start, end, step}, {{"dtype", dtype}});
}

Value* scalar_tensor(Builder& b, const Argument& value, DType dtype) {
  return call(b, "aten.scalar_tensor.default", {value}, {{"dtype", dtype}});
}

Value* tril(Builder& b, Value* self, std::int64_t diagonal) {
  return call(b, "aten.tril.default", {self, diagonal});
}

Value* triu(Builder& b, Value* self, std::int64_t diagonal) {
  return call(b, "aten.triu.default", {self, diagonal});
}

}  // namespace unfuse::ops::aten
