// Softmax and its kin.
#include "targets/cpu/kernels/softmax.h"

#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"

namespace unfuse::cpu {
namespace {

Refusal accept_softmax(const Node& node) {
  const DType dtype = node.result()->dtype();
  if (computes_in_float32(dtype)) return std::nullopt;
  return std::string(dtype_name(dtype)) + " is not supported by this op";
}

template <SoftmaxKind kKind>
void lower_softmax(const Node& node, LoweringContext& context) {
  const View from = context.converted(context.view(node.input(0)), DType::kFloat32);
  const View to = context.result(node.result());
  SoftmaxSpec spec;
  spec.kind = kKind;
  spec.input = from.spec;
  spec.dim = node.argument("dim").integer();
  spec.output = to.spec;
  spec.threads = context.threads();
  context.emit(select_softmax(spec), {from}, {to});
}

constexpr LoweringRow kRows[] = {
    {"aten.softmax.int", accept_softmax, lower_softmax<SoftmaxKind::kSoftmax>},
    {"aten._softmax.default", accept_softmax, lower_softmax<SoftmaxKind::kSoftmax>},
    {"aten.special_softmax.default", accept_softmax, lower_softmax<SoftmaxKind::kSoftmax>},
    {"aten.log_softmax.int", accept_softmax, lower_softmax<SoftmaxKind::kLogSoftmax>},
    {"aten._log_softmax.default", accept_softmax, lower_softmax<SoftmaxKind::kLogSoftmax>},
    {"aten._safe_softmax.default", accept_softmax, lower_softmax<SoftmaxKind::kSafeSoftmax>},
};

}  // namespace

std::span<const LoweringRow> softmax_lowerings() { return kRows; }

}  // namespace unfuse::cpu
