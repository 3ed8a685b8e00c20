// Linear layers take the rows of their input in the order that memory has them. A layer does with
// each row the same, so rows may change places behind it as well as in front:
//
//   linear(permute(x))           ->   permute(linear(x))
//   reshape(linear(reshape(x)))  ->   linear(reshape(x))    where rows were merged for the layer
//   only
//
// nn.MultiheadAttention does both around its projections: it works on [length, batch, width] and
// its callers on [batch, length, width]. Rows that are permuted in front of a layer have to be
// copied; behind it the permutation is a view, and it meets the one that turns the rows back.
//
// Only layers whose results are looked at through views are changed, so that nothing is computed
// on permuted rows that was computed on rows in order before.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "passes/canonical.h"
#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/matching.h"

namespace unfuse::cpu {
namespace {

using Order = std::vector<std::int64_t>;

std::vector<Dim> with_last(std::vector<Dim> sizes, const Dim& last) {
  sizes.back() = last;
  return sizes;
}

Value* same_layer(Builder& builder, const Node& layer, Value* input) {
  return linear_like(builder, layer, input, layer.argument("weight"), layer.argument("bias"));
}

// --- Rows merged for the layer only

/// The reshape that takes the layer's rows apart again, when the layer's input is one too.
Node* parting_reshape(const Node& layer) {
  Node* reader = only_reader(layer.result());
  if (reader == nullptr || !reader->is("aten.reshape.default")) return nullptr;
  if (!layer.input(0)->produced_by("aten.reshape.default")) return nullptr;
  const Value* parted = reader->result();
  const bool keeps_rows = parted->rank() > 1 && parted->size(-1) == layer.result()->size(-1);
  return keeps_rows ? reader : nullptr;
}

/// Returns the new layer.
Node* part_rows_before(Graph& graph, Node* layer, Node* parting) {
  Builder builder(graph, layer);
  Value* source = layer->input(0)->producer()->input(0);
  const std::vector<Dim> sizes = with_last(parting->result()->sizes(), layer->input(0)->size(-1));
  Value* made = same_layer(builder, *layer, passes::reshape(builder, source, sizes));
  replace_by(graph, parting, made);
  graph.erase(layer);
  return made->producer();
}

// --- Rows permuted in front of the layer

/// The rows of the input are dimensions of `source`, in this order; its other dimensions, in order
/// too, make up a row.
struct PermutedRows {
  Value* source = nullptr;
  Order rows;
  Order columns;
};

std::optional<PermutedRows> permuted_rows(const Node& layer) {
  const Value* input = layer.input(0);
  const Value* moved = input;
  if (input->produced_by("aten.reshape.default")) moved = input->producer()->input(0);
  if (!moved->produced_by("aten.permute.default")) return std::nullopt;
  const auto count = static_cast<std::size_t>(input->rank()) - 1;
  if (static_cast<std::size_t>(moved->rank()) <= count) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    if (moved->sizes()[i] != input->sizes()[i]) return std::nullopt;
  }
  const Order order = moved->producer()->argument(1).integers();
  const auto end_of_rows = order.begin() + static_cast<std::ptrdiff_t>(count);
  PermutedRows permuted{moved->producer()->input(0), Order(order.begin(), end_of_rows),
                        Order(end_of_rows, order.end())};
  if (std::is_sorted(permuted.rows.begin(), permuted.rows.end())) return std::nullopt;
  return permuted;
}

bool is_view(const Node& node) {
  return is_any(node, {"aten.reshape.default", "aten.permute.default", "aten.slice.Tensor",
                       "aten.select.int"});
}

bool only_views_read(const Value* value) {
  return !value->is_output() && std::all_of(value->uses().begin(), value->uses().end(),
                                            [](const Use& use) { return is_view(*use.node); });
}

/// A permutation of what is permuted already is one permutation, or none.
void join_permutations(Graph& graph, Value* permuted) {
  if (!permuted->produced_by("aten.permute.default")) return;
  const Order first = permuted->producer()->argument(1).integers();
  Value* source = permuted->producer()->input(0);
  std::vector<Use> uses = permuted->uses();  // as they are before any is replaced
  for (const Use& use : uses) {
    if (!use.node->is("aten.permute.default")) continue;
    Order both;
    for (const std::int64_t dim : use.node->argument(1).integers()) {
      both.push_back(first[static_cast<std::size_t>(dim)]);
    }
    Builder builder(graph, use.node);
    replace_by(graph, use.node, passes::permute(builder, source, both));
  }
  if (permuted->use_count() == 0) graph.erase(permuted->producer());
}

void permute_rows_after(Graph& graph, Node* layer, const PermutedRows& permuted) {
  Order in_order = permuted.rows;
  std::sort(in_order.begin(), in_order.end());
  Order back;
  for (const std::int64_t dim : permuted.rows) {
    back.push_back(std::find(in_order.begin(), in_order.end(), dim) - in_order.begin());
  }
  back.push_back(static_cast<std::int64_t>(in_order.size()));

  Builder builder(graph, layer);
  Order order = in_order;
  order.insert(order.end(), permuted.columns.begin(), permuted.columns.end());
  std::vector<Dim> sizes;
  for (const std::int64_t dim : in_order) sizes.push_back(permuted.source->size(dim));
  sizes.push_back(layer->input(0)->size(-1));
  Value* input = passes::reshape(builder, passes::permute(builder, permuted.source, order), sizes);
  Value* result = passes::permute(builder, same_layer(builder, *layer, input), back);
  replace_by(graph, layer, result);
  join_permutations(graph, result);
}

}  // namespace

void order_linear_rows(Graph& graph) {
  std::vector<Node*> layers;
  for (Node* node : graph.nodes()) {
    if (is_linear(*node) && node->input(1)->rank() == 2) layers.push_back(node);
  }
  for (Node* layer : layers) {
    if (Node* parting = parting_reshape(*layer)) layer = part_rows_before(graph, layer, parting);
    const std::optional<PermutedRows> permuted = permuted_rows(*layer);
    if (permuted && only_views_read(layer->result())) permute_rows_after(graph, layer, *permuted);
  }
}

}  // namespace unfuse::cpu
