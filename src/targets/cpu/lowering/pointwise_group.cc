#include "targets/cpu/lowering/pointwise_group.h"

#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

bool is_16_bit_float(DType dtype) { return is_floating_point(dtype) && dtype_size(dtype) == 2; }

/// Float to int is left to the copy kernel, and so is what takes more than one rounding.
bool is_groupable_conversion(const Node& node) {
  if (!node.is("aten._to_copy.default")) return false;
  const DType from = node.input(0)->dtype();
  const DType to = node.result()->dtype();
  if (is_complex(from) || from == DType::kUInt64) return false;
  if (is_16_bit_float(to)) return from == DType::kFloat32;
  if (to == DType::kInt64) return !is_floating_point(from);
  return to == DType::kBool || to == DType::kFloat32 || to == DType::kFloat64;
}

int emit_conversion(PointwiseEmitter& emitter, const Node& node) {
  const DType from = node.input(0)->dtype();
  const DType to = node.result()->dtype();
  const RegisterType source = register_type(from);
  const Argument& operand = node.argument(0);
  if (to == DType::kBool) {
    return emitter.emit(PointwiseOp::kToBool, source, {emitter.load(operand, source)});
  }
  const int value = emitter.load(operand, register_type(to));
  if (to == DType::kFloat16) {
    return emitter.emit(PointwiseOp::kRoundToFloat16, RegisterType::kFloat32, {value});
  }
  if (to == DType::kBFloat16) {
    return emitter.emit(PointwiseOp::kRoundToBFloat16, RegisterType::kFloat32, {value});
  }
  return value;
}

int emit_node(PointwiseEmitter& emitter, const Node& node) {
  const PointwiseRow* row = find_pointwise(node.id());
  return row != nullptr ? row->emit(emitter, node) : emit_conversion(emitter, node);
}

}  // namespace

bool can_be_grouped(const Node& node) {
  return (find_pointwise(node.id()) != nullptr && node.op().traits.pointwise) ||
         is_groupable_conversion(node);
}

bool can_be_inlined(const Node& node) {
  const DType dtype = node.result()->dtype();
  const bool keeps_value = dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                           dtype == DType::kInt64 || dtype == DType::kBool;
  return keeps_value || (is_16_bit_float(dtype) && is_groupable_conversion(node));
}

void lower_pointwise_group(const NodeGroup& group, LoweringContext& context) {
  PointwiseEmitter emitter(context);
  for (const Node* node : group.nodes) emitter.define(node->result(), emit_node(emitter, *node));
  std::vector<int> registers;
  std::vector<View> results;
  for (const Value* value : group.stored) {
    registers.push_back(emitter.defined(value));
    results.push_back(context.result(value));
  }
  emitter.finish(registers, results.front().sizes(), results);
}

}  // namespace unfuse::cpu
