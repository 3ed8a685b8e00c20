// Attention: by ONNX's op of that name from opset 23 on, and spelled out before. What either gives
// where every key of a row is masked is said outright, since ONNX leaves it open.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/lowering/families.h"
#include "onnx/lowering/softmax.h"

namespace unfuse::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The arguments of unfuse.attention.
struct Call {
  const Value* query;
  const Value* key;
  const Value* value;
  const Value* mask;  ///< may be null
  double scale;
  bool is_causal;
  /// For rows without a key.
  double otherwise;

  const Dim& queries() const { return query->size(-2); }
  const Dim& keys() const { return key->size(-2); }
  std::int64_t rank() const { return query->rank(); }
  /// float32 where the query is in a type that nothing is computed in.
  DType dtype() const { return arithmetic_dtype(query->dtype()); }
};

double scale_of(const Node& node, const Value* query) {
  const Argument& scale = node.argument("scale");
  if (!scale.is_none()) return scale.number();
  const auto size = query->size(-1).constant();
  if (!size) refuse("the head size is symbolic");
  return 1.0 / std::sqrt(static_cast<double>(*size));
}

Call read(const Node& node) {
  const Value* query = node.argument("query").value();
  const bool is_zero = node.argument("zero_fully_masked").boolean();
  return {query,
          node.argument("key").value(),
          node.argument("value").value(),
          node.argument("mask").value_or_null(),
          scale_of(node, query),
          node.argument("is_causal").boolean(),
          is_zero ? 0.0 : std::numeric_limits<double>::quiet_NaN()};
}

bool has_bool_mask(const Call& call) { return call.mask->dtype() == DType::kBool; }

/// bool [L, S]: key j is before query i, or is it.
Operand causal_mask(LoweringContext& context, const Call& call) {
  const Operand rows = context.unsqueeze(context.range(call.queries()), {1});
  const Operand columns = context.unsqueeze(context.range(call.keys()), {0});
  return context.emit("GreaterOrEqual", {rows, columns}, DType::kBool);
}

/// The mask with the causal one in it: bool, or float to be added. Absent when there is none.
Operand whole_mask(LoweringContext& context, const Call& call, DType dtype) {
  if (call.mask == nullptr) {
    return call.is_causal ? causal_mask(context, call) : LoweringContext::absent();
  }
  if (has_bool_mask(call)) {
    const Operand mask = context.operand(call.mask);
    if (!call.is_causal) return mask;
    return context.emit("And", {mask, causal_mask(context, call)}, DType::kBool);
  }
  const Operand mask = context.operand(call.mask, dtype);
  if (!call.is_causal) return mask;
  return context.where(causal_mask(context, call), mask, context.number(-kInfinity, dtype));
}

// --- Spelled out

/// Heads of keys and values, each as often as queries share it.
Operand repeat_heads(LoweringContext& context, Operand operand, const Value* value,
                     const Call& call) {
  const std::vector<Dim>& sizes = value->sizes();
  if (value->rank() < 3 || sizes[sizes.size() - 3] == call.query->size(-3)) return operand;
  const auto head = static_cast<std::ptrdiff_t>(sizes.size()) - 3;
  std::vector<Dim> apart = sizes;
  apart.insert(apart.begin() + head + 1, Dim(1));
  std::vector<Dim> repeated = apart;
  repeated[static_cast<std::size_t>(head) + 1] =
      Dim::floordiv(call.query->size(-3), sizes[static_cast<std::size_t>(head)]);
  std::vector<Dim> merged = sizes;
  merged[static_cast<std::size_t>(head)] = call.query->size(-3);
  operand = context.reshape(operand, sizes, apart);
  return context.reshape(context.expand(operand, apart, repeated), repeated, merged);
}

Operand swap_last_two(LoweringContext& context, Operand operand, std::int64_t rank) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  for (std::int64_t i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return context.transpose(operand, order);
}

Operand spelled_out(LoweringContext& context, const Call& call) {
  const DType dtype = call.dtype();
  // Products may be of 16 bits; scores, which are masked and summed over, are not.
  const DType wide = wide_dtype(dtype);
  const Operand query = context.operand(call.query, dtype);
  const Operand key = repeat_heads(context, context.operand(call.key, dtype), call.key, call);
  const Operand value = repeat_heads(context, context.operand(call.value, dtype), call.value, call);
  const Operand scaled = context.emit("Mul", {query, context.number(call.scale, dtype)});
  const Operand product =
      context.emit("MatMul", {scaled, swap_last_two(context, key, call.key->rank())});
  Operand scores = context.convert(product, wide);
  const Operand mask = whole_mask(context, call, wide);
  if (mask.dtype == DType::kBool && mask.id >= 0) {
    scores = context.where(mask, scores, context.number(-kInfinity, wide));
  } else if (mask.id >= 0) {
    scores = context.emit("Add", {scores, mask});
  }
  Operand weights = softmax(context, scores, call.rank() - 1);
  // A causal mask alone leaves every row its first key.
  if (call.mask != nullptr) {
    weights = where_any_score(context, scores, call.rank() - 1, weights, call.otherwise);
  }
  return context.emit("MatMul", {context.convert(weights, dtype), value});
}

// --- By ONNX's op

bool has_elements(const Value* value) { return value->tensor().numel() != Dim(0); }

/// ONNX Runtime computes it in float32 at most, and not of nothing. Either side is multiplied by
/// the root of the scale.
bool fits_attention_op(const LoweringContext& context, const Call& call) {
  return context.opset() >= 23 && (call.rank() == 3 || call.rank() == 4) &&
         call.key->rank() == call.rank() && call.value->rank() == call.rank() &&
         call.dtype() != DType::kFloat64 && call.scale > 0 && has_elements(call.query) &&
         has_elements(call.key);
}

/// `values`, but `otherwise` in the rows that the mask leaves no key.
Operand where_any_key(LoweringContext& context, const Call& call, Operand mask, Operand values) {
  const std::int64_t last = std::max<std::int64_t>(call.mask->rank(), call.is_causal ? 2 : 1) - 1;
  if (mask.dtype != DType::kBool) {
    return where_any_score(context, mask, last, values, call.otherwise);
  }
  const Operand counted = context.convert(mask, DType::kInt32);
  const Operand any = context.convert(context.reduce("ReduceMax", counted, {last}), DType::kBool);
  return context.where(any, values, context.number(call.otherwise, values.dtype));
}

/// A mask of [..., queries, keys]: ONNX reads a narrower one as cut off, and ONNX Runtime takes no
/// other.
Operand full_size(LoweringContext& context, const Call& call, Operand mask) {
  if (call.is_causal) return mask;  // which has brought it there
  std::vector<Dim> sizes = call.mask->sizes();
  if (sizes.size() < 2) {
    sizes.insert(sizes.begin(), 2 - sizes.size(), Dim(1));
    mask = context.reshape(mask, call.mask->sizes(), sizes);
  }
  std::vector<Dim> wide = sizes;
  wide[wide.size() - 2] = call.queries();
  wide.back() = call.keys();
  return context.expand(mask, sizes, wide);
}

Operand by_attention_op(LoweringContext& context, const Call& call) {
  const DType dtype = call.dtype();
  const bool is_flat = call.rank() == 3;
  const auto operand = [&](const Value* value) {
    const Operand own = context.operand(value, dtype);
    return is_flat ? context.unsqueeze(own, {0}) : own;
  };
  Attributes attributes = {{"scale", static_cast<float>(call.scale)}};
  if (dtype == DType::kFloat16) attributes.push_back({"softmax_precision", std::int64_t{1}});
  Operand mask = LoweringContext::absent();
  if (call.mask != nullptr) {
    mask = full_size(context, call, whole_mask(context, call, dtype));
  } else if (call.is_causal) {
    attributes.push_back({"is_causal", std::int64_t{1}});
  }
  Operand result = context.emit(
      "Attention", {operand(call.query), operand(call.key), operand(call.value), mask}, attributes);
  if (is_flat) result = context.squeeze(result, {0});
  if (call.mask == nullptr) return result;
  return where_any_key(context, call, whole_mask(context, call, dtype), result);
}

void attention(const Node& node, LoweringContext& context) {
  const Call call = read(node);
  context.define(node.result(), fits_attention_op(context, call) ? by_attention_op(context, call)
                                                                 : spelled_out(context, call));
}

constexpr LoweringRow kRows[] = {{"unfuse.attention", attention}};

}  // namespace

std::span<const LoweringRow> attention_lowerings() { return kRows; }

}  // namespace unfuse::onnx
