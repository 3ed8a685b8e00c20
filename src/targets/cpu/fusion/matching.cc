#include "targets/cpu/fusion/matching.h"

#include <algorithm>

#include "ops/catalogue.h"

namespace unfuse::cpu {

Node* only_reader(const Value* value) {
  if (value->is_output() || value->uses().size() != 1) return nullptr;
  return value->uses().front().node;
}

bool is_any(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](std::string_view op) { return node.is(op); });
}

bool is_linear(const Node& node) {
  if (node.is("aten.linear.default")) return true;
  return node.is("unfuse.linear") && node.argument("epilogue").string() == "none" &&
         node.argument("residual").is_none();
}

Value* linear_like(Builder& builder, const Node& layer, const Argument& input,
                   const Argument& weight, const Argument& bias) {
  std::vector<KeywordArgument> others;
  for (std::size_t i = 3; i < layer.arguments().size(); ++i) {
    others.push_back({layer.op().schema.arguments[i].name, layer.arguments()[i]});
  }
  return builder.call(layer.op(), {input, weight, bias}, others);
}

bool is_float32(const Value* value) {
  return value->is_tensor() && value->dtype() == DType::kFloat32;
}

bool is_plain_sum(const Node& node) {
  if (!node.is("aten.add.Tensor") || !node.argument(0).is_value() || !node.argument(1).is_value()) {
    return false;
  }
  const Argument& alpha = node.argument("alpha");
  return alpha.is_constant_scalar() && alpha.number() == 1 && is_float32(node.input(0)) &&
         is_float32(node.input(1)) && is_float32(node.result());
}

Value* added_to(const Value* operand, const Node& sum) {
  if (!is_plain_sum(sum)) return nullptr;
  Value* other = sum.input(sum.input(0) == operand ? 1 : 0);
  const auto& sizes = sum.result()->sizes();
  return other->sizes() == sizes && operand->sizes() == sizes ? other : nullptr;
}

void replace_by(Graph& graph, Node* replaced, Value* by) {
  const std::string name = replaced->result()->name();
  graph.replace_all_uses(replaced->result(), by);
  graph.erase(replaced);
  if (by->producer() != nullptr) graph.rename(by, name);
}

void replace_by_node(Graph& graph, Node* replaced, std::string_view op, Arguments arguments,
                     const Origin& origin) {
  const Op& wanted = ops::get(op);
  conform_arguments(wanted, arguments);
  Node* made =
      graph.create_node(wanted, std::move(arguments), {replaced->result()->type()}, replaced);
  made->set_origin(origin);
  replace_by(graph, replaced, made->result());
}

}  // namespace unfuse::cpu
