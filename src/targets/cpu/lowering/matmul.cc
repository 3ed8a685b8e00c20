// Matrix products.
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/layout.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/pointwise_emitter.h"
#include "targets/cpu/lowering/products.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

bool is_matmul_output(const OperandSpec& spec) {
  return spec.rank() > 1 && (spec.strides.back() == 1 || spec.sizes.back() <= 1);
}

Refusal accept_linear(const Node& node) {
  const std::int64_t weight = node.input(1)->rank();
  if (node.input(0)->rank() < 1 || weight < 1 || weight > 2 ||
      node.result()->rank() != node.input(0)->rank() + weight - 2) {
    return "its operands have ranks that a linear layer does not take";
  }
  return accept_float32(node);
}

/// Every operand has a rank that a matrix product takes: vectors only for the ops that allow them.
Refusal accept_product(const Node& node) {
  const bool takes_vectors =
      node.is("aten.matmul.default") || node.is("aten.mv.default") || node.is("aten.dot.default");
  for (const Value* operand : node.operands()) {
    if (operand->rank() < (takes_vectors ? 1 : 2)) return "an operand that is no matrix";
  }
  return accept_float32(node);
}

Refusal accept_addmm(const Node& node) {
  if (node.input(1)->rank() < 2 || node.input(2)->rank() < 2 || node.result()->rank() < 2) {
    return "an operand that is no matrix";
  }
  return accept_float32(node);
}

const char* key_of(Packing packing) {
  switch (packing) {
    case Packing::kFloat32:
      return "linear";
    case Packing::kPairs:
      return "linear in bfloat16";
    case Packing::kSplitPairs:
      return "linear in split bfloat16";
  }
  return "linear";
}

std::optional<PackRequest> pack_linear(const Node& node,
                                       const std::function<bool(const Value*)>& is_prepared) {
  const Value* weight = node.input(1);
  if (weight->rank() != 2 || !is_prepared(weight)) return std::nullopt;
  const Packing packing = packing_of(products_of(node));
  return PackRequest{weight, key_of(packing),
                     [packing](const OperandSpec& spec, const void* data, int threads) {
                       return pack_linear_weight(spec, data, packing, threads);
                     }};
}

/// a [..., M, K] x b [..., K, N], batch dimensions broadcast to those of `to` [..., M, N].
void emit_matmul(LoweringContext& context, View a, View b, const std::optional<View>& bias,
                 float alpha, const View& to) {
  const auto with_batch_of_result = [&](const View& matrix) {
    Sizes sizes(to.sizes().begin(), to.sizes().end() - 2);
    sizes.insert(sizes.end(), matrix.sizes().end() - 2, matrix.sizes().end());
    return broadcast(matrix, sizes);
  };
  if (to.rank() < 2) throw Error(ErrorKind::kInvalidArgument, "a product that is no matrix");
  a = with_batch_of_result(context.contiguous_unless(a, matmul_reads_left));
  b = with_batch_of_result(context.contiguous_unless(b, matmul_reads_right));
  MatmulSpec spec;
  spec.a = a.spec;
  spec.b = b.spec;
  spec.has_bias = bias.has_value();
  spec.alpha = alpha;
  spec.output = to.spec;
  spec.threads = context.threads();
  std::vector<View> inputs = {a, b};
  if (bias) inputs.push_back(*bias);
  context.emit(select_matmul(spec), inputs, {to});
}

Epilogue epilogue_of(const Node& node) {
  if (node.op().schema.index_of("epilogue") < 0) return Epilogue::kNone;
  const std::string& name = node.argument("epilogue").string();
  if (name == "none") return Epilogue::kNone;
  if (name == "relu") return Epilogue::kRelu;
  if (name == "gelu") return Epilogue::kGelu;
  if (name == "gelu_tanh") return Epilogue::kGeluTanh;
  if (name == "silu") return Epilogue::kSilu;
  throw Error(ErrorKind::kInternal, "no epilogue is named " + name);
}

/// The residual of unfuse.linear; null where there is none.
const Value* residual_of(const Node& node) {
  if (node.op().schema.index_of("residual") < 0) return nullptr;
  return node.argument("residual").value_or_null();
}

void add_in_place(LoweringContext& context, const View& to, const View& other) {
  PointwiseEmitter emitter(context);
  const RegisterType type = register_type(to.dtype());
  const int sum =
      emitter.emit(PointwiseOp::kAdd, type, {emitter.load(to, type), emitter.load(other, type)});
  emitter.finish({sum}, to.sizes(), {to});
}

void lower_packed_linear(const Node& node, LoweringContext& context, const View& packed) {
  const View input = context.contiguous_unless(context.view(node.input(0)), packed_linear_reads);
  const View to = context.result_if(node.result(), packed_linear_writes);
  const Value* bias = node.argument("bias").value_or_null();
  PackedLinearSpec spec;
  spec.input = input.spec;
  spec.out_features = to.sizes().back();
  spec.has_bias = bias != nullptr;
  spec.epilogue = epilogue_of(node);
  spec.output = to.spec;
  spec.products = products_of(node);
  spec.threads = context.threads();
  std::vector<View> inputs = {input, packed};
  if (bias != nullptr) inputs.push_back(row_operand(context, bias, spec.out_features));
  const Value* residual = residual_of(node);
  const bool in_kernel = residual != nullptr && packed_linear_reads(context.view(residual).spec);
  if (in_kernel) {
    spec.residual = context.view(residual).spec;
    inputs.push_back(context.view(residual));
  }
  const std::optional<RowLimit> limit = context.row_limit();
  if (limit && input.numel() > 0 && to.numel() > 0) {
    spec.counted_rows = limit->rows;
    inputs.insert(inputs.begin(), limit->count);
  }
  context.emit(select_packed_linear(spec), inputs, {to});
  if (residual != nullptr && !in_kernel) add_in_place(context, to, context.view(residual));
}

/// All rows of a tensor as one matrix.
View as_matrix(LoweringContext& context, const View& view) {
  const std::int64_t columns = view.sizes().back();
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i + 1 < view.rank(); ++i) rows *= view.size(i);
  const std::optional<View> matrix = reshaped(view, {rows, columns});
  return matrix ? *matrix : *reshaped(context.contiguous(view), {rows, columns});
}

void lower_fused_linear(const Node& node, LoweringContext& context) {
  const std::optional<View> packed = context.packed(node);
  if (!packed) throw Error(ErrorKind::kInternal, "the weight of a fused layer is not packed");
  lower_packed_linear(node, context, *packed);
}

void lower_linear(const Node& node, LoweringContext& context) {
  if (const std::optional<View> packed = context.packed(node)) {
    lower_packed_linear(node, context, *packed);
    return;
  }
  View weight = context.view(node.input(1));
  if (weight.rank() == 1) weight = unsqueezed(weight, 0);
  View to = context.contiguous_result(node.result());
  if (node.input(1)->rank() == 1) to = unsqueezed(to, to.rank());
  std::optional<View> bias;
  if (const Value* value = node.argument("bias").value_or_null()) {
    bias = row_operand(context, value, weight.size(0));
    if (bias->rank() == 0) bias = unsqueezed(*bias, 0);
  }
  emit_matmul(context, as_matrix(context, context.view(node.input(0))), transposed(weight, 0, 1),
              bias, 1, as_matrix(context, to));
}

/// matmul, mm, bmm, mv, dot: a vector on the left is a row, on the right a column.
void lower_matmul(const Node& node, LoweringContext& context) {
  View a = context.view(node.input(0));
  View b = context.view(node.input(1));
  View to = context.result_if(node.result(), [](const OperandSpec& spec) {
    return spec.rank() > 1 ? is_matmul_output(spec) : spec.is_contiguous();
  });
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (row) a = unsqueezed(a, 0);
  if (column) b = unsqueezed(b, 1);
  if (column) to = unsqueezed(to, to.rank());
  if (row) to = unsqueezed(to, to.rank() - 1);
  const bool one_matrix = b.rank() == 2 && a.rank() > 2 && to.spec.is_contiguous();
  if (one_matrix) {
    a = as_matrix(context, a);
    to = as_matrix(context, to);
  }
  emit_matmul(context, a, b, std::nullopt, 1, to);
}

bool is_number(const Argument& argument, double value) {
  return argument.is_constant_scalar() && argument.number() == value;
}

/// beta * self + alpha * (a x b). Where self is a row that is added to every row, the kernel does
/// all of it; beta = 0 means that self is not looked at.
void lower_addmm(const Node& node, LoweringContext& context) {
  const View self = context.view(node.input(0));
  const View a = context.view(node.input(1));
  const View b = context.view(node.input(2));
  PointwiseEmitter emitter(context);
  const double alpha = emitter.number(node.argument("alpha"));
  const Argument& beta = node.argument("beta");
  const View to = context.result_if(node.result(), is_matmul_output);
  const bool is_row = self.numel() == to.sizes().back() && self.rank() > 0 &&
                      self.sizes().back() == to.sizes().back();
  if (is_number(beta, 0) || (is_row && is_number(beta, 1) && alpha == 1)) {
    std::optional<View> bias;
    if (!is_number(beta, 0)) bias = reshaped(context.contiguous(self), {to.sizes().back()});
    emit_matmul(context, a, b, bias, static_cast<float>(alpha), to);
    return;
  }
  const View product = context.temporary(to.dtype(), to.sizes());
  emit_matmul(context, a, b, std::nullopt, static_cast<float>(alpha), product);
  const RegisterType type = register_type(to.dtype());
  const int sum = emitter.emit(
      PointwiseOp::kMultiplyAdd, type,
      {emitter.load(self, type), emitter.load(beta, type), emitter.load(product, type)});
  emitter.finish({sum}, to.sizes(), {to});
}

void lower_outer(const Node& node, LoweringContext& context) {
  const RegisterType type = result_register_type(node);
  const View to = context.result(node.result());
  PointwiseEmitter emitter(context);
  const int left = emitter.load(unsqueezed(context.view(node.input(0)), 1), type);
  const int right = emitter.load(unsqueezed(context.view(node.input(1)), 0), type);
  emitter.finish({emitter.emit(PointwiseOp::kMultiply, type, {left, right})}, to.sizes(), {to});
}

constexpr LoweringRow kRows[] = {
    {"aten.linear.default", accept_linear, lower_linear, pack_linear},
    {"unfuse.linear", refuse_from_outside, lower_fused_linear, pack_linear},
    {"aten.matmul.default", accept_product, lower_matmul},
    {"aten.mm.default", accept_product, lower_matmul},
    {"aten.bmm.default", accept_product, lower_matmul},
    {"aten.mv.default", accept_product, lower_matmul},
    {"aten.dot.default", accept_product, lower_matmul},
    {"aten.addmm.default", accept_addmm, lower_addmm},
    {"aten.baddbmm.default", accept_addmm, lower_addmm},
    {"aten.outer.default", accept_all, lower_outer},
};

}  // namespace

std::span<const LoweringRow> matmul_lowerings() { return kRows; }

}  // namespace unfuse::cpu
