// Running sums and products, and orders.
#include "targets/cpu/kernels/scan.h"

#include "targets/cpu/kernels/sort.h"
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

// How many of a line are wanted is what the result's size says.
void lower_sort(const Node& node, LoweringContext& context, bool descending) {
  const View from = context.view(node.input(0));
  const View values = context.result(node.result(0));
  const View indices = context.result(node.result(1));
  SortSpec spec;
  spec.input = from.spec;
  spec.dim = wrapped(node.argument("dim").integer(), from.rank());
  spec.descending = descending;
  spec.values = values.spec;
  spec.indices = indices.spec;
  spec.threads = context.threads();
  context.emit(select_sort(spec), {from}, {values, indices});
}

void lower_sort(const Node& node, LoweringContext& context) {
  lower_sort(node, context, node.argument("descending").boolean());
}

void lower_topk(const Node& node, LoweringContext& context) {
  lower_sort(node, context, node.argument("largest").boolean());
}

constexpr LoweringRow kRows[] = {
    {"aten.cumsum.default", accept_all, lower_scan<ScanOp::kSum>},
    {"aten.cumprod.default", accept_all, lower_scan<ScanOp::kProd>},
    {"aten.sort.default", accept_all, lower_sort},
    {"aten.sort.stable", accept_all, lower_sort},
    {"aten.topk.default", accept_all, lower_topk},
};

}  // namespace

std::span<const LoweringRow> scan_lowerings() { return kRows; }

}  // namespace unfuse::cpu
