// Linear layers. AOTAutograd and make_fx write one as
//   contiguous 3-D input with bias:  view to 2-D, t, addmm, view back
//   without bias:                    view, t, mm, view
//   strided input with bias:         clone, view, t, mm, view, add
// in float32 and 16-bit alike, and people write x @ weight.t(). All of these become one linear:
//   1. addmm with a 1-D bias is linear(input, transposed matrix, bias);
//   2. a matmul whose right side is a 2-D matrix made of parameters and constants alone is a
//   linear, its weight
//      the transposed matrix (two transposes are none; others are prepared once);
//   3. a reshape of the input that keeps its last dimension moves behind the linear, where
//   simplify() merges it
//      with the reshape back;
//   4. a 1-D bias added to a linear that has none, and that nobody else reads, is its bias.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

Value* transposed(RewriteContext& at, Value* matrix) {
  if (matrix->produced_by("aten.permute.default")) return matrix->producer()->input(0);
  return permute(at.builder, matrix, {1, 0});
}

// Depends on parameters, buffers and constants alone. Chains are short; deep ones count as
// computed.
bool is_prepared(const Graph& graph, const Value* value, int depth = 12) {
  if (depth == 0) return false;
  if (const GraphInput* input = graph.input_of(value)) return input->kind != InputKind::kUser;
  const Node* producer = value->producer();
  if (producer == nullptr || producer->op().traits.random) return false;
  for (const Value* operand : producer->operands()) {
    if (!is_prepared(graph, operand, depth - 1)) return false;
  }
  return true;
}

bool is_number(const Argument& argument, double value) {
  return argument.is_constant_scalar() && argument.number() == value;
}

bool is_bias_for(const Value* bias, const Dim& features) {
  return bias->rank() == 1 && bias->size(0) == features;
}

Replacement addmm(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  Value* matrix = node.input(2);
  const bool plain =
      is_number(node.argument("alpha"), 1.0) && is_number(node.argument("beta"), 1.0);
  if (!plain || !is_bias_for(self, matrix->size(1)) || !is_floating_point(self->dtype())) {
    return kKeep;
  }
  return at.become(node, "aten.linear.default", {node.input(1), transposed(at, matrix), self});
}

Replacement matmul_with_weight(RewriteContext& at, const Node& node) {
  Value* input = node.input(0);
  Value* matrix = node.input(1);
  if (input->rank() < 2 || matrix->rank() != 2 || !is_floating_point(matrix->dtype())) return kKeep;
  if (!is_prepared(at.graph(), matrix) || is_prepared(at.graph(), input)) return kKeep;
  return at.become(node, "aten.linear.default", {input, transposed(at, matrix)});
}

Replacement reshape_last(RewriteContext& at, const Node& node) {
  Value* input = node.input(0);
  if (!input->produced_by("aten.reshape.default")) return kKeep;
  Value* unshaped = input->producer()->input(0);
  if (unshaped->rank() == 0 || input->rank() == 0 || unshaped->size(-1) != input->size(-1)) {
    return kKeep;
  }
  Value* made = at.call("aten.linear.default", {unshaped, node.argument(1), node.argument(2)});
  return replace_by(reshape(at.builder, made, node.result()->sizes()));
}

bool used_once(const Value* value) { return value->use_count() == 1; }

// The linear without a bias that this value is, or is a reshape of; null otherwise.
const Node* linear_under(const Value* value) {
  if (!used_once(value)) return nullptr;
  if (value->produced_by("aten.reshape.default")) {
    const Value* inner = value->producer()->input(0);
    const bool keeps_features =
        inner->rank() > 0 && value->rank() > 0 && inner->size(-1) == value->size(-1);
    return keeps_features ? linear_under(inner) : nullptr;
  }
  if (!value->produced_by("aten.linear.default")) return nullptr;
  return value->producer()->argument(2).is_none() ? value->producer() : nullptr;
}

Replacement add_bias(RewriteContext& at, const Node& node) {
  if (!node.argument(0).is_value() || !node.argument(1).is_value()) return kKeep;
  if (!is_number(node.argument("alpha"), 1.0)) return kKeep;
  for (const int side : {0, 1}) {
    Value* bias = node.input(1 - side);
    const Node* linear = linear_under(node.input(side));
    if (linear == nullptr || bias->dtype() != linear->result()->dtype()) continue;
    if (!is_bias_for(bias, linear->result()->size(-1))) continue;
    Value* made = at.call("aten.linear.default", {linear->argument(0), linear->argument(1), bias});
    return replace_by(reshape(at.builder, made, node.result()->sizes()));
  }
  return kKeep;
}

constexpr RewriteRow kRows[] = {
    {"aten.addmm.default", addmm},
    {"aten.matmul.default", matmul_with_weight},
    {"aten.linear.default", reshape_last},
    {"aten.add.Tensor", add_bias},
};

}  // namespace

std::span<const RewriteRow> linear_rewrites() { return kRows; }

}  // namespace unfuse::passes
