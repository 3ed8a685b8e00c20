// Running sums and products.
#include "targets/cpu/kernels/scan.h"

#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/view_algebra.h"

namespace unfuse::cpu {
namespace {

template <ScanOp kOp>
void lower_scan(const Node& node, LoweringContext& context) {
  View from = context.view(node.input(0));
  const View to = context.result(node.result());
  if (is_floating_point(from.dtype()) != is_floating_point(to.dtype())) {
    from = context.converted(from, to.dtype());
  }
  ScanSpec spec;
  spec.op = kOp;
  spec.input = from.spec;
  spec.dim = wrapped(node.argument("dim").integer(), from.rank());
  spec.output = to.spec;
  spec.threads = context.threads();
  context.emit(select_scan(spec), {from}, {to});
}

constexpr LoweringRow kRows[] = {
    {"aten.cumsum.default", accept_all, lower_scan<ScanOp::kSum>},
    {"aten.cumprod.default", accept_all, lower_scan<ScanOp::kProd>},
};

}  // namespace

std::span<const LoweringRow> scan_lowerings() { return kRows; }

}  // namespace unfuse::cpu
