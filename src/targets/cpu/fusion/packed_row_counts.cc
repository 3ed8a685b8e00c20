#include "targets/cpu/fusion/packed_row_counts.h"

#include <optional>

#include "passes/canonical.h"
#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

/// How many leading dimensions are the rows.
std::optional<std::int64_t> row_dims(const Value* value, const Dim& rows) {
  Dim count(1);
  for (std::int64_t dim = 0; dim < value->rank(); ++dim) {
    count *= value->size(dim);
    if (count == rows) return dim + 1;
  }
  return std::nullopt;
}

class Search {
 public:
  PackedRowCounts apply(const Graph& graph) {
    for (const Node* node : graph.nodes()) {
      const std::optional<PackedRowCount> count = count_of(*node);
      if (!count || !row_dims(node->result(), count->rows)) continue;
      counts_[node] = *count;
    }
    return std::move(counts_);
  }

 private:
  std::optional<PackedRowCount> count_of(const Node& node) const {
    if (node.is("unfuse.pack_rows")) {
      return PackedRowCount{node.argument("offsets").value(),
                            node.argument("sources").value()->size(0)};
    }
    if (is_any(node, {"aten.linear.default", "unfuse.linear", "aten.layer_norm.default",
                      "aten.rms_norm.default", "unfuse.add_layer_norm", "aten.reshape.default"})) {
      return of(node.input(0));
    }
    if (is_any(node, {"aten.select.int", "aten.slice.Tensor"})) return through_part(node);
    if (node.is("aten.permute.default")) return through_permute(node);
    if (node.is("aten._to_copy.default") || find_pointwise(node.id()) != nullptr) {
      for (const Value* operand : node.operands()) {
        if (auto count = of(operand)) return count;
      }
    }
    return std::nullopt;
  }

  std::optional<PackedRowCount> of(const Value* value) const {
    const auto found = counts_.find(value->producer());
    return found == counts_.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<PackedRowCount> through_part(const Node& node) const {
    const auto count = of(node.input(0));
    if (!count) return std::nullopt;
    const std::int64_t dim =
        passes::wrap_dimension(node.argument("dim").integer(), node.input(0)->rank());
    return dim >= *row_dims(node.input(0), count->rows) ? count : std::nullopt;
  }

  /// Rows that stay in front; or attention's, which come there.
  std::optional<PackedRowCount> through_permute(const Node& node) const {
    const std::vector<std::int64_t> order = node.argument(1).integers();
    const Node* producer = node.input(0)->producer();
    if (producer != nullptr && producer->is("unfuse.packed_attention")) {
      if (order != std::vector<std::int64_t>{0, 2, 1, 3}) return std::nullopt;
      return PackedRowCount{producer->argument("offsets").value(),
                            producer->result()->size(0) * producer->result()->size(2)};
    }
    auto count = of(node.input(0));
    if (!count) return std::nullopt;
    const std::int64_t dims = *row_dims(node.input(0), count->rows);
    for (std::int64_t dim = 0; dim < dims; ++dim) {
      if (order[static_cast<std::size_t>(dim)] != dim) return std::nullopt;
    }
    return count;
  }

  PackedRowCounts counts_;
};

}  // namespace

PackedRowCounts packed_row_counts(const Graph& graph) { return Search().apply(graph); }

}  // namespace unfuse::cpu
