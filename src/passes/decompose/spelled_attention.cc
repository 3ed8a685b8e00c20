#include "passes/decompose/spelled_attention.h"

#include <cmath>
#include <limits>

#include "passes/canonical.h"
#include "passes/decompose/attention_mask.h"
#include "unfuse/error.h"

namespace unfuse::passes {

Value* repeat_heads(Builder& builder, Value* value, const Dim& heads) {
  if (value->rank() < 3 || value->size(-3) == heads) return value;
  std::vector<Dim> merged = value->sizes();
  merged[merged.size() - 3] = heads;
  if (value->size(-3) == Dim(1)) return expand(builder, value, merged);
  Value* apart = unsqueeze(builder, value, value->rank() - 2);
  std::vector<Dim> repeated = apart->sizes();
  repeated[repeated.size() - 3] = Dim::floordiv(heads, value->size(-3));
  return reshape(builder, expand(builder, apart, repeated), merged);
}

Value* scaled_scores(Builder& builder, Value* query, Value* key, const Argument& scale) {
  Value* product = call(builder, "aten.matmul.default", {query, transpose(builder, key, -2, -1)});
  return call(builder, "aten.mul.Scalar", {product, scale});
}

Value* keep_attended(Builder& builder, Value* scores, Value* attended) {
  return call(builder, "aten.masked_fill.Scalar",
              {scores, negate(builder, attended), -std::numeric_limits<double>::infinity()});
}

Value* causal_mask(Builder& builder, const Dim& queries, const Dim& keys) {
  Value* ones = full(builder, {queries, keys}, true, DType::kBool);
  return call(builder, "aten.tril.default", {ones});
}

Value* softmax_of_scores(Builder& builder, Value* scores, bool zero_fully_masked) {
  const std::int64_t last = scores->rank() - 1;
  return call(builder, zero_fully_masked ? "aten._safe_softmax.default" : "aten.softmax.int",
              {scores, last});
}

double scale_or_default(const Node& node, const Argument& scale, const Value* query) {
  if (!scale.is_none()) return scale.number();
  const auto size = query->size(-1).constant();
  if (size) return 1.0 / std::sqrt(static_cast<double>(*size));
  throw Error(ErrorKind::kUnsupported,
              "the head size is symbolic, and attention has to be spelled out", node.where(),
              "export with a fixed head size");
}

}  // namespace unfuse::passes
