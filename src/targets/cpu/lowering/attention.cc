// Attention without the score matrix.
#include "targets/cpu/kernels/attention.h"

#include <cmath>
#include <vector>

#include "passes/canonical.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/products.h"
#include "targets/cpu/lowering/view_algebra.h"

namespace unfuse::cpu {
namespace {

bool has_dense_rows(const OperandSpec& spec) {
  return spec.strides.back() == 1 || spec.sizes.back() <= 1;
}

Refusal accept_attention(const Node& node) {
  const std::int64_t rank = node.argument("query").value()->rank();
  if (rank < 2 || node.argument("key").value()->rank() != rank ||
      node.argument("value").value()->rank() != rank || node.result()->rank() != rank) {
    return "query, key and value must have one rank, 2 or more";
  }
  for (const char* name : {"query", "key", "value"}) {
    const Value* operand = node.argument(name).value();
    if (computes_in_float32(operand->dtype())) continue;
    return std::string(dtype_name(operand->dtype())) + " is not supported by this op";
  }
  const Value* mask = node.argument("mask").value_or_null();
  if (mask == nullptr || mask->dtype() == DType::kBool || computes_in_float32(mask->dtype())) {
    return std::nullopt;
  }
  return "a mask of dtype " + std::string(dtype_name(mask->dtype())) + " is not supported";
}

/// The operand with the result's batch dimensions, its own heads, and its own rows and columns.
View attention_operand(LoweringContext& context, const Value* value, const Sizes& result) {
  View view = context.contiguous_unless(context.view(value), has_dense_rows);
  if (result.size() <= 3) return view;
  Sizes sizes(result.begin(), result.end() - 3);
  sizes.insert(sizes.end(), view.sizes().end() - 3, view.sizes().end());
  return broadcast(view, sizes);
}

/// The order of dimensions [..., L, H, D], where that is how everyone reads the result: then heads
/// are put together to rows without moving them. Empty for others.
std::vector<std::int64_t> order_of_rows(const Value* result) {
  const std::int64_t rank = result->rank();
  if (rank < 3 || result->is_output() || result->uses().empty()) return {};
  std::vector<std::int64_t> order = passes::swapped_order(rank, -3, -2);
  for (const Use& use : result->uses()) {
    if (!use.node->is("aten.permute.default") || use.node->argument(1).integers() != order)
      return {};
  }
  return order;
}

View attention_result(const Node& node, LoweringContext& context) {
  const std::vector<std::int64_t> order = order_of_rows(node.result());
  if (order.empty()) return context.result_if(node.result(), has_dense_rows);
  return context.result_in_order(node.result(), order);
}

/// The scalar arguments, and the operands that every kind of attention has.
AttentionSpec attention_spec(const Node& node, const LoweringContext& context, const View& query,
                             const View& key, const View& value, const View& to) {
  AttentionSpec spec;
  spec.query = query.spec;
  spec.key = key.spec;
  spec.value = value.spec;
  spec.output = to.spec;
  spec.is_causal = node.argument("is_causal").boolean();
  spec.zero_fully_masked = node.argument("zero_fully_masked").boolean();
  spec.products = products_of(node);
  spec.threads = context.threads();
  const Argument& scale = node.argument("scale");
  spec.scale = static_cast<float>(
      scale.is_none() ? 1 / std::sqrt(static_cast<double>(query.sizes().back())) : scale.number());
  return spec;
}

void lower_attention(const Node& node, LoweringContext& context) {
  const View to = attention_result(node, context);
  const View query = attention_operand(context, node.argument("query").value(), to.sizes());
  const View key = attention_operand(context, node.argument("key").value(), to.sizes());
  const View value = attention_operand(context, node.argument("value").value(), to.sizes());
  AttentionSpec spec = attention_spec(node, context, query, key, value, to);
  std::vector<View> inputs = {query, key, value};
  if (const Value* mask = node.argument("mask").value_or_null()) {
    Sizes sizes = query.sizes();
    sizes.back() = key.size(key.rank() - 2);
    View view = context.view(mask);
    if (view.dtype() != DType::kBool) view = context.converted(view, DType::kFloat32);
    inputs.push_back(broadcast(view, sizes));
    spec.mask = inputs.back().spec;
  }
  context.emit(select_attention(spec), inputs, {to});
}

/// [B, H, L, D] with rows (b, l) at one distance from each other.
View with_even_rows(LoweringContext& context, const Value* value) {
  View view = context.view(value);
  const std::vector<std::int64_t> order = passes::swapped_order(4, 1, 2);
  const View rows = permuted(view, order);
  const bool is_even =
      rows.size(0) <= 1 || rows.size(1) <= 1 || rows.stride(0) == rows.size(1) * rows.stride(1);
  if (is_even && has_dense_rows(view.spec)) return view;
  const View copied = context.temporary(view.dtype(), rows.sizes());
  context.copy(rows, copied);
  return permuted(copied, order);
}

void lower_packed_attention(const Node& node, LoweringContext& context) {
  const View to = context.result_in_order(node.result(), passes::swapped_order(4, 1, 2));
  const View query = with_even_rows(context, node.argument("query").value());
  const View key = with_even_rows(context, node.argument("key").value());
  const View value = with_even_rows(context, node.argument("value").value());
  AttentionSpec spec = attention_spec(node, context, query, key, value, to);
  spec.is_packed = true;
  std::vector<View> inputs = {context.view(node.argument("offsets").value()), query, key, value};
  if (const Value* mask = node.argument("mask").value_or_null()) {
    Sizes sizes = query.sizes();
    sizes.back() = sizes[2];
    inputs.push_back(broadcast(context.contiguous(context.view(mask)), sizes));
    spec.mask = inputs.back().spec;
  }
  context.emit(select_attention(spec), inputs, {to});
}

constexpr LoweringRow kRows[] = {
    {"unfuse.attention", accept_attention, lower_attention},
    {"unfuse.packed_attention", refuse_from_outside, lower_packed_attention},
};

}  // namespace

std::span<const LoweringRow> attention_lowerings() { return kRows; }

}  // namespace unfuse::cpu
