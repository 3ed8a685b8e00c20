// Choosing between values by a mask.
#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;

int where(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
  const int condition = emitter.load(node.argument(0), type);
  const int chosen = emitter.load(node.argument(1), type);
  return emitter.emit(Op::kWhere, type, {condition, chosen, emitter.load(node.argument(2), type)});
}

/// What fills bools is a truth value: 0.25 is true, and would be 0 among integers.
RegisterType filled_type(const Node& node) {
  if (node.result()->dtype() != DType::kBool) return result_register_type(node);
  const Argument& value = node.argument("value");
  if (value.is_value() && value.value()->is_tensor()) return register_type(value.value()->dtype());
  return value.holds<double>() ? RegisterType::kFloat64 : RegisterType::kInt64;
}

int masked_fill(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = filled_type(node);
  const int mask = emitter.load(node.argument("mask"), type);
  const int value = emitter.load(node.argument("value"), type);
  return emitter.emit(Op::kWhere, type, {mask, value, emitter.load(node.argument(0), type)});
}

constexpr PointwiseRow kRows[] = {
    {"aten.where.self", where},
    {"aten.where.Scalar", where},
    {"aten.where.ScalarSelf", where},
    {"aten.where.ScalarOther", where},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
};

}  // namespace

std::span<const PointwiseRow> selection_rows() { return kRows; }

}  // namespace unfuse::cpu
