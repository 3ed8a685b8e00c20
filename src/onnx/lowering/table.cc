#include "onnx/lowering/table.h"

#include <vector>

#include "onnx/lowering/families.h"
#include "ops/row_table.h"

namespace unfuse::onnx {
namespace {

std::vector<LoweringRow> collect_rows() {
  std::vector<LoweringRow> rows;
  for (const auto family :
       {activations_lowerings(), attention_lowerings(), comparison_lowerings(),
        convolution_lowerings(), copies_lowerings(), creation_lowerings(), indexing_lowerings(),
        matmul_lowerings(), norms_lowerings(), pointwise_binary_lowerings(),
        pointwise_unary_lowerings(), pooling_lowerings(), reductions_lowerings(),
        resampling_lowerings(), scan_lowerings(), selection_lowerings(), softmax_lowerings(),
        views_lowerings()}) {
    rows.insert(rows.end(), family.begin(), family.end());
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

}  // namespace unfuse::onnx
