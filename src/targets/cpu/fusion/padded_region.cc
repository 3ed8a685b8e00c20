#include "targets/cpu/fusion/padded_region.h"

#include <algorithm>

#include "passes/canonical.h"
#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/lowering/pointwise_emitter.h"

namespace unfuse::cpu {
namespace {

/// Rows of other types than these might not survive what memory happens to hold: an integer is
/// divided by zero.
bool is_harmless(const Value* value) {
  return value->is_tensor() &&
         (value->dtype() == DType::kFloat32 || value->dtype() == DType::kBool);
}

bool is_pointwise(const Node& node) {
  return find_pointwise(node.id()) != nullptr && node.op().traits.pointwise;
}

bool starts_with_rows(const Value* value, const RowSizes& rows) {
  return value->is_tensor() && value->rank() > 1 && value->size(0) == rows.batch &&
         value->size(1) == rows.length;
}

std::int64_t dimension_of(const Node& view) {
  return passes::wrap_dimension(view.argument("dim").integer(), view.input(0)->rank());
}

/// Whether all who read the value add up its rows, or take their largest: a NaN in one of them is a
/// NaN in what they give.
bool is_pooled(const Value* value) {
  if (value->is_output()) return false;
  return std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
    if (!is_any(*use.node, {"aten.sum.dim_IntList", "aten.mean.dim", "aten.amax.default",
                            "aten.amin.default"})) {
      return false;
    }
    const Argument& all = use.node->argument("dim");
    if (all.is_none()) return true;
    const std::vector<std::int64_t> dims = all.integers();
    return dims.empty() || std::any_of(dims.begin(), dims.end(), [&](std::int64_t dim) {
             return passes::wrap_dimension(dim, value->rank()) == 1;
           });
  });
}

bool is_number(const Argument& argument, std::int64_t number) {
  const auto* dim = argument.get_if<Dim>();
  return dim != nullptr && *dim == Dim(number);
}

}  // namespace

std::optional<RowSizes> row_sizes(const Node& attention) {
  const Value* query = attention.input(0);
  const Value* key = attention.input(1);
  if (query->rank() != 4 || key->rank() != 4) return std::nullopt;
  const RowSizes rows{query->size(0), query->size(2)};
  const bool is_known = key->size(0) == rows.batch && key->size(2) == rows.length;
  // One row alone leaves nothing out.
  return is_known && rows.batch * rows.length != Dim(1) ? std::optional(rows) : std::nullopt;
}

std::optional<RowPredicate> visible_keys(const Node& attention, const RowSizes& rows) {
  Value* mask = attention.argument("mask").value_or_null();
  if (mask == nullptr || !is_harmless(mask) || mask->rank() != 4 || mask->size(0) != rows.batch ||
      mask->size(3) != rows.length) {
    return std::nullopt;
  }
  const RowLayout layout = RowLayout::with_rows_at(mask->sizes(), 0, 3);
  return mask->dtype() == DType::kBool ? row_predicate(mask, layout, rows)
                                       : weight_predicate(mask, layout, rows);
}

PaddedRegion::PaddedRegion(Graph& graph, const std::unordered_set<const Value*>& prepared,
                           const Node& attention)
    : prepared_(prepared), rows_(*row_sizes(attention)), visible_(*visible_keys(attention, rows_)) {
  find_sinks(graph);
  collect();
  shrink();
  finish(graph);
}

std::vector<int> PaddedRegion::row_arguments(const Node& node) const {
  std::vector<int> arguments;
  for (const Operand& operand : members_.at(&node)) arguments.push_back(operand.argument);
  return arguments;
}

// --- Sinks

void PaddedRegion::find_sinks(const Graph& graph) {
  for (Node* node : graph.nodes()) add_sinks(node);
}

void PaddedRegion::add_sinks(Node* node) {
  if (node->is("aten.mul.Tensor")) {
    add_masked(node, 0, 1, false, true);
    add_masked(node, 1, 0, false, true);
  } else if (node->is("aten.masked_fill.Scalar")) {
    add_masked(node, 0, 1, true, false);
  } else if (node->is("aten.where.self")) {
    add_masked(node, 1, 0, false, false);
    add_masked(node, 2, 0, true, false);
  } else if (node->is("aten.where.ScalarOther")) {
    add_masked(node, 1, 0, false, false);
  } else if (node->is("aten.where.ScalarSelf")) {
    add_masked(node, 2, 0, true, false);
  } else if (node->is("aten.select.int") && starts_with_rows(node->input(0), rows_) &&
             dimension_of(*node) == 1 && is_number(node->argument("index"), 0)) {
    sinks_.push_back({node, 0, std::nullopt, false});
  }
}

void PaddedRegion::add_masked(Node* node, int masked, int mask, bool is_negated,
                              bool lets_nan_through) {
  if (!node->argument(masked).is_value() || !node->argument(mask).is_value()) return;
  const Value* value = node->input(masked);
  if (!starts_with_rows(value, rows_) || node->result()->sizes() != value->sizes()) return;
  const auto layout = RowLayout::with_rows_at(value->sizes(), 0, 1)
                          .of_operand(node->input(mask)->sizes(), value->sizes(), rows_);
  if (!layout || !layout->has_all_rows(rows_)) return;
  // Where attention gives NaN to sequences that are padded whole, a product has it in all rows.
  if (lets_nan_through && !is_pooled(node->result())) return;
  std::optional<RowPredicate> wanted = row_predicate(node->input(mask), *layout, rows_);
  if (!wanted) return;
  if (is_negated) wanted = wanted->negated();
  sinks_.push_back({node, masked, wanted, lets_nan_through});
}

bool PaddedRegion::is_sink(const Use& use) const {
  return std::any_of(sinks_.begin(), sinks_.end(), [&](const RowSink& sink) {
    return sink.node == use.node && sink.argument == use.argument;
  });
}

// --- Nodes

/// Everything above the sinks that may belong to the region, from the bottom up.
void PaddedRegion::collect() {
  for (const RowSink& sink : sinks_) {
    visit(sink.value(), RowLayout::with_rows_at(sink.value()->sizes(), 0, 1));
  }
  while (!to_visit_.empty()) {
    Value* value = to_visit_.back();
    to_visit_.pop_back();
    const Node* node = value->producer();
    if (node == nullptr || node->results().size() != 1 || !is_harmless(value)) continue;
    std::optional<Operands> operands = operands_of(*node, layouts_.at(value));
    if (!operands || operands->empty()) continue;
    for (const Operand& operand : *operands) visit(node->input(operand.argument), operand.layout);
    members_[node] = std::move(*operands);
  }
}

void PaddedRegion::visit(Value* value, const RowLayout& layout) {
  const auto [found, is_new] = layouts_.emplace(value, layout);
  if (is_new) {
    to_visit_.push_back(value);
  } else if (!(found->second == layout)) {
    contradicted_.insert(value);
  }
}

/// What a node leaves, it takes with it all that it reads: that must be there in full.
void PaddedRegion::shrink() {
  bool is_stable = false;
  while (!is_stable) {
    const std::size_t left =
        std::erase_if(members_, [&](const auto& member) { return !is_valid(*member.first); });
    is_stable = left == 0;
  }
}

bool PaddedRegion::is_valid(const Node& node) const {
  const Value* result = node.result();
  if (result->is_output() || contradicted_.contains(result)) return false;
  const bool is_read_by_rows =
      std::all_of(result->uses().begin(), result->uses().end(), [&](const Use& use) {
        const auto reader = members_.find(use.node);
        if (reader == members_.end()) return is_sink(use);
        return std::any_of(
            reader->second.begin(), reader->second.end(),
            [&](const Operand& operand) { return operand.argument == use.argument; });
      });
  if (!is_read_by_rows) return false;
  const Operands& operands = members_.at(&node);
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    const Value* value = node.input(operand.argument);
    if (contradicted_.contains(value)) return false;
    return members_.contains(value->producer()) || operand.layout.is_leading(rows_);
  });
}

void PaddedRegion::finish(const Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (!members_.contains(node)) continue;
    nodes_.push_back(node);
    if (node->is("unfuse.attention")) attentions_.push_back(node);
  }
  std::erase_if(sinks_, [&](const RowSink& sink) {
    return members_.contains(sink.node) || !members_.contains(sink.value()->producer());
  });
}

// --- What nodes do with rows

std::optional<PaddedRegion::Operands> PaddedRegion::operands_of(const Node& node,
                                                                const RowLayout& result) const {
  const auto same = [&](std::optional<RowLayout> layout) -> std::optional<Operands> {
    if (!layout) return std::nullopt;
    return Operands{{0, std::move(*layout)}};
  };
  if (prepared_.contains(node.result())) return std::nullopt;
  if (node.is("unfuse.attention")) return attention_operands(node, result);
  if (is_linear(node)) return layer_operands(node, result, 1);
  if (is_any(node, {"aten.layer_norm.default", "aten.rms_norm.default"})) {
    const auto trailing = static_cast<std::int64_t>(node.argument(1).dims().size());
    return layer_operands(node, result, trailing);
  }
  if (is_pointwise(node) || node.is("aten._to_copy.default")) {
    return pointwise_operands(node, result);
  }
  if (node.is("aten.reshape.default")) return same(result.reshaped(node.input(0)->sizes()));
  if (node.is("aten.permute.default")) return same(result.unpermuted(node.argument(1).integers()));
  if (node.is("aten.select.int")) {
    const std::int64_t dim = dimension_of(node);
    return same(result.with_dim(dim, node.input(0)->size(dim)));
  }
  if (node.is("aten.slice.Tensor")) {
    const std::int64_t dim = dimension_of(node);
    if (!result.is_free(dim)) return std::nullopt;
    return same(result.with_free_size(dim, node.input(0)->size(dim)));
  }
  return std::nullopt;
}

/// Layers over what a row holds: its last dimensions, or some of them.
std::optional<PaddedRegion::Operands> PaddedRegion::layer_operands(const Node& node,
                                                                   const RowLayout& result,
                                                                   std::int64_t trailing) const {
  const Value* input = node.input(0);
  if (input->rank() != result.rank() || trailing > result.rank()) return std::nullopt;
  RowLayout layout = result;
  for (std::int64_t dim = result.rank() - trailing; dim < result.rank(); ++dim) {
    if (!result.is_free(dim)) return std::nullopt;
    layout = layout.with_free_size(dim, input->size(dim));
  }
  for (const char* parameter : {"weight", "bias"}) {
    if (node.op().schema.index_of(parameter) < 0) continue;
    const Value* value = node.argument(parameter).value_or_null();
    if (value != nullptr && !prepared_.contains(value)) return std::nullopt;
  }
  return Operands{{0, std::move(layout)}};
}

std::optional<PaddedRegion::Operands> PaddedRegion::pointwise_operands(
    const Node& node, const RowLayout& result) const {
  Operands operands;
  for (std::size_t i = 0; i < node.arguments().size(); ++i) {
    const auto index = static_cast<int>(i);
    if (!node.argument(index).is_value()) continue;
    const Value* value = node.input(index);
    const auto layout = result.of_operand(value->sizes(), node.result()->sizes(), rows_);
    if (!layout) return std::nullopt;
    if (layout->is_free()) continue;
    if (!is_harmless(value)) return std::nullopt;
    operands.push_back({index, *layout});
  }
  return operands;
}

std::optional<PaddedRegion::Operands> PaddedRegion::attention_operands(
    const Node& node, const RowLayout& result) const {
  const auto rows = row_sizes(node);
  if (!rows || !(*rows == rows_) || visible_keys(node, rows_) != visible_) return std::nullopt;
  const auto layout_of = [](const Value* value) {
    return RowLayout::with_rows_at(value->sizes(), 0, 2);
  };
  if (!(layout_of(node.result()) == result)) return std::nullopt;
  Operands operands;
  for (const int argument : {0, 1, 2}) {
    operands.push_back({argument, layout_of(node.input(argument))});
  }
  return operands;
}

}  // namespace unfuse::cpu
