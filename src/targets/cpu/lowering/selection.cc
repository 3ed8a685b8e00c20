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

int masked_fill(PointwiseEmitter& emitter, const Node& node) {
  const RegisterType type = result_register_type(node);
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
