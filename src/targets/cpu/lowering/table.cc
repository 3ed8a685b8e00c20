#include "targets/cpu/lowering/table.h"

#include "ops/row_table.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

void lower_pointwise(const Node& node, LoweringContext& context) {
  const View to = context.result(node.result());
  PointwiseEmitter emitter(context);
  const int value = find_pointwise(node.id())->emit(emitter, node);
  emitter.finish({value}, to.sizes(), {to});
}

/// uint64 values beyond int64 would compare and divide wrongly.
Refusal accept_pointwise(const Node& node) {
  for (const Value* operand : node.operands()) {
    if (operand->dtype() == DType::kUInt64) return "uint64 is not supported by this op";
  }
  return std::nullopt;
}

std::vector<LoweringRow> collect_rows() {
  std::vector<LoweringRow> rows;
  for (const auto family :
       {attention_lowerings(), convolution_lowerings(), copies_lowerings(), creation_lowerings(),
        indexing_lowerings(), matmul_lowerings(), norms_lowerings(), packed_rows_lowerings(),
        pooling_lowerings(), reductions_lowerings(), resampling_lowerings(), scan_lowerings(),
        softmax_lowerings(), views_lowerings()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  for (const auto family :
       {arithmetic_rows(), unary_rows(), activation_rows(), comparison_rows(), selection_rows()}) {
    for (const PointwiseRow& row : family) {
      rows.push_back({row.op, accept_pointwise, lower_pointwise});
    }
  }
  return rows;
}

const ops::RowTable<LoweringRow>& table() {
  static const ops::RowTable<LoweringRow> rows(collect_rows());
  return rows;
}

}  // namespace

const LoweringRow* find_lowering(OpId id) { return table().find(id); }

std::span<const LoweringRow> lowering_rows() { return table().rows(); }

}  // namespace unfuse::cpu
