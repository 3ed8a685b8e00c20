#include "targets/cpu/lowering/table.h"

#include <algorithm>
#include <string_view>

#include "ops/catalogue.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/pointwise_emitter.h"
#include "unfuse/error.h"

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
        pooling_lowerings(), reductions_lowerings(), scan_lowerings(), softmax_lowerings(),
        views_lowerings()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  for (const auto family :
       {arithmetic_rows(), unary_rows(), activation_rows(), comparison_rows(), selection_rows()}) {
    for (const PointwiseRow& row : family) {
      rows.push_back({row.op, accept_pointwise, lower_pointwise});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const LoweringRow& left, const LoweringRow& right) {
    return std::string_view(left.op) < right.op;
  });
  return rows;
}

const std::vector<LoweringRow>& all_rows() {
  static const std::vector<LoweringRow> rows = collect_rows();
  return rows;
}

std::vector<const LoweringRow*> rows_by_id() {
  std::vector<const LoweringRow*> by_id(ops::catalogue().size(), nullptr);
  for (const LoweringRow& row : all_rows()) {
    const LoweringRow*& place = by_id[static_cast<std::size_t>(ops::get(row.op).id)];
    if (place != nullptr) {
      throw Error(ErrorKind::kInternal, "two lowerings for one op", row.op);
    }
    place = &row;
  }
  return by_id;
}

}  // namespace

const LoweringRow* find_lowering(OpId id) {
  static const std::vector<const LoweringRow*> by_id = rows_by_id();
  return id < 0 ? nullptr : by_id[static_cast<std::size_t>(id)];
}

std::span<const LoweringRow> lowering_rows() { return all_rows(); }

}  // namespace unfuse::cpu
