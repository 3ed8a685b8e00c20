// Products of matrices.
#include "onnx/lowering/families.h"

namespace unfuse::onnx {
namespace {

void linear(const Node& node, LoweringContext& context) {
  const Value* input = node.input(0);
  const Value* weight = node.input(1);
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const Operand x = context.operand(node.argument(0), dtype);
  const Operand w = context.operand(node.argument(1), dtype);
  const Operand bias = context.optional_operand(node.argument(2), dtype);
  const bool is_gemm = input->rank() == 2 && weight->rank() == 2 && is_floating_point(dtype) &&
                       (bias.id < 0 || node.argument(2).value()->rank() == 1);
  if (is_gemm) {
    const Attributes transposed = {{"transB", std::int64_t{1}}};
    return context.define(node.result(), context.emit("Gemm", {x, w, bias}, transposed));
  }
  const Operand columns = weight->rank() == 2 ? context.transpose(w, {1, 0}) : w;
  Operand result = context.emit("MatMul", {x, columns});
  if (bias.id >= 0) result = context.emit("Add", {result, bias});
  context.define(node.result(), result);
}

void matmul(const Node& node, LoweringContext& context) {
  const DType dtype = arithmetic_dtype(node.result()->dtype());
  const Operand left = context.operand(node.argument(0), dtype);
  context.define(node.result(),
                 context.emit("MatMul", {left, context.operand(node.argument(1), dtype)}));
}

constexpr LoweringRow kRows[] = {
    {"aten.linear.default", linear},
    {"aten.matmul.default", matmul},
};

}  // namespace

std::span<const LoweringRow> matmul_lowerings() { return kRows; }

}  // namespace unfuse::onnx
