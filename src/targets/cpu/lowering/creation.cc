// Tensors from nothing, and triangles.
#include "targets/cpu/kernels/fill.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/pointwise_emitter.h"
#include "targets/cpu/lowering/scalars.h"

namespace unfuse::cpu {
namespace {

using Op = PointwiseOp;

void fill_result(const Node& node, LoweringContext& context, const Scalar& value) {
  const View to = context.result(node.result());
  context.emit(select_fill({to.spec, value, context.threads()}), {}, {to});
}

void lower_full(const Node& node, LoweringContext& context) {
  fill_result(node, context, scalar(node.argument("fill_value"), context));
}

void lower_scalar_tensor(const Node& node, LoweringContext& context) {
  fill_result(node, context, scalar(node.argument("s"), context));
}

void lower_fill_scalar(const Node& node, LoweringContext& context) {
  fill_result(node, context, scalar(node.argument("value"), context));
}

void lower_fill_tensor(const Node& node, LoweringContext& context) {
  context.copy(context.view(node.input(1)), context.result(node.result()));
}

/// Also for empty: what is never written must not be garbage that differs from run to run.
void lower_zeros(const Node& node, LoweringContext& context) {
  fill_result(node, context, Scalar::integer(0));
}

void lower_ones(const Node& node, LoweringContext& context) {
  fill_result(node, context, Scalar::integer(1));
}

/// arange of integers cuts its numbers before it counts: from -1.5 means from -1.
void lower_arange(const Node& node, LoweringContext& context) {
  const bool integers = is_integer(node.result()->dtype());
  const auto number = [&](std::string_view name, std::int64_t otherwise) {
    const int index = node.op().schema.index_of(name);
    if (index < 0) return Scalar::integer(otherwise);
    const auto* fraction = node.argument(index).get_if<double>();
    if (integers && fraction != nullptr) {
      return Scalar::integer(static_cast<std::int64_t>(*fraction));
    }
    return scalar(node.argument(index), context);
  };
  const View to = context.result(node.result());
  context.emit(select_arange({to.spec, number("start", 0), number("step", 1), context.threads()}),
               {}, {to});
}

/// The column minus the row, in int64: 0 on the diagonal.
int distance_from_diagonal(PointwiseEmitter& emitter, std::int64_t rank) {
  const RegisterType type = RegisterType::kInt64;
  const int column = emitter.emit(Op::kCoordinate, type, {}, {}, rank - 1);
  const int row = emitter.emit(Op::kCoordinate, type, {}, {}, rank - 2);
  return emitter.emit(Op::kSubtract, type, {column, row});
}

void lower_eye(const Node& node, LoweringContext& context) {
  const View to = context.result(node.result());
  PointwiseEmitter emitter(context);
  const int distance = distance_from_diagonal(emitter, 2);
  const int on_diagonal = emitter.emit(Op::kLogicalNot, RegisterType::kInt64, {distance});
  emitter.finish({on_diagonal}, to.sizes(), {to});
}

/// Keeps self where `column - row` compares to the diagonal, and 0 elsewhere.
void lower_triangle(const Node& node, LoweringContext& context, Op kept) {
  const RegisterType type = result_register_type(node);
  const View to = context.result(node.result());
  PointwiseEmitter emitter(context);
  const int self = emitter.load(node.argument(0), type);
  const int diagonal = emitter.load(node.argument("diagonal"), RegisterType::kInt64);
  const int distance = distance_from_diagonal(emitter, to.rank());
  int inside = emitter.emit(kept, RegisterType::kInt64, {distance, diagonal});
  if (type == RegisterType::kFloat32) inside = emitter.emit(Op::kToFloat32, type, {inside});
  if (type == RegisterType::kFloat64) inside = emitter.emit(Op::kToFloat64, type, {inside});
  const int zero = emitter.constant(std::int64_t{0}, type);
  const int value = emitter.emit(Op::kWhere, type, {inside, self, zero});
  emitter.finish({value}, to.sizes(), {to});
}

void lower_tril(const Node& node, LoweringContext& context) {
  lower_triangle(node, context, Op::kLessEqual);
}

void lower_triu(const Node& node, LoweringContext& context) {
  lower_triangle(node, context, Op::kGreaterEqual);
}

constexpr LoweringRow kRows[] = {
    {"aten.full.default", accept_all, lower_full},
    {"aten.full_like.default", accept_all, lower_full},
    {"aten.new_full.default", accept_all, lower_full},
    {"aten.scalar_tensor.default", accept_all, lower_scalar_tensor},
    {"aten.fill.Scalar", accept_all, lower_fill_scalar},
    {"aten.fill.Tensor", accept_all, lower_fill_tensor},
    {"aten.zeros.default", accept_all, lower_zeros},
    {"aten.zeros_like.default", accept_all, lower_zeros},
    {"aten.new_zeros.default", accept_all, lower_zeros},
    {"aten.zero.default", accept_all, lower_zeros},
    {"aten.empty.memory_format", accept_all, lower_zeros},
    {"aten.empty_like.default", accept_all, lower_zeros},
    {"aten.new_empty.default", accept_all, lower_zeros},
    {"aten.ones.default", accept_all, lower_ones},
    {"aten.ones_like.default", accept_all, lower_ones},
    {"aten.new_ones.default", accept_all, lower_ones},
    {"aten.arange.default", accept_all, lower_arange},
    {"aten.arange.start", accept_all, lower_arange},
    {"aten.arange.start_step", accept_all, lower_arange},
    {"aten.eye.default", accept_all, lower_eye},
    {"aten.eye.m", accept_all, lower_eye},
    {"aten.tril.default", accept_all, lower_tril},
    {"aten.triu.default", accept_all, lower_triu},
};

}  // namespace

std::span<const LoweringRow> creation_lowerings() { return kRows; }

}  // namespace unfuse::cpu
