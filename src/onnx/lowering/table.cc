#include "onnx/lowering/table.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "onnx/lowering/families.h"
#include "ops/catalogue.h"
#include "unfuse/error.h"

namespace unfuse::onnx {
namespace {

std::vector<LoweringRow> collect_rows() {
  std::vector<LoweringRow> rows;
  for (const auto family :
       {activations_lowerings(), attention_lowerings(), comparison_lowerings(),
        convolution_lowerings(), copies_lowerings(), creation_lowerings(), indexing_lowerings(),
        matmul_lowerings(), norms_lowerings(), pointwise_binary_lowerings(),
        pointwise_unary_lowerings(), pooling_lowerings(), reductions_lowerings(), scan_lowerings(),
        selection_lowerings(), softmax_lowerings(), views_lowerings()}) {
    rows.insert(rows.end(), family.begin(), family.end());
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
      throw Error(ErrorKind::kInternal, "two ONNX lowerings for one op", row.op);
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

}  // namespace unfuse::onnx
