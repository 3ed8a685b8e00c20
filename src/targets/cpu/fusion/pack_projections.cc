// Linear layers that read the same tensor become one, whose weight is theirs put together:
//
//   %q = linear(%x, %wq, %bq)            %all = linear(%x, cat(%wq, %wk, %wv), cat(%bq, %bk, %bv))
//   %k = linear(%x, %wk)          ->     %q = slice(%all, -1, 0, 64)
//   %v = linear(%x, %wv, %bv)            %k = slice(%all, -1, 64, 128)    ...
//
// The input is read once, and one wide product keeps all threads busier than three narrow ones.
// Weights and biases depend on parameters alone, so that putting them together belongs to the
// preparation; 16-bit weights are put together before they are widened. Slices are views: whoever
// reads them finds rows that are further apart. Layers whose readers would have to copy such rows
// are left out, and so are layers that an activation or a residual follows, which costs nothing as
// an epilogue; but a gate (activation(gate(x)) * up(x)) is a pointwise op over both in any case.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/catalogue.h"
#include "passes/canonical.h"
#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/fusion/row_readers.h"
#include "targets/cpu/prepared_values.h"

namespace unfuse::cpu {
namespace {

using Layers = std::vector<Node*>;

std::int64_t out_features(const Node& layer) { return *layer.input(1)->size(0).constant(); }

class ProjectionPacking {
 public:
  explicit ProjectionPacking(Graph& graph) : graph_(graph), prepared_(prepared_values(graph)) {
    int position = 0;
    for (const Node* node : graph.nodes()) position_[node] = position++;
  }

  void apply() {
    std::unordered_map<const Value*, Layers> by_input;
    std::vector<const Value*> inputs;
    for (Node* node : graph_.nodes()) {
      if (!is_projection(*node)) continue;
      Layers& layers = by_input[node->input(0)];
      if (layers.empty()) inputs.push_back(node->input(0));
      layers.push_back(node);
    }
    for (const Value* input : inputs) {
      Layers& layers = by_input[input];
      keep_packable(layers);
      if (layers.size() > 1) pack(layers);
    }
  }

 private:
  bool is_projection(const Node& node) const {
    if (!is_linear(node) || !is_float32(node.result()) || prepared_.contains(node.result())) {
      return false;
    }
    const Value* weight = node.input(1);
    const Value* bias = node.argument("bias").value_or_null();
    return weight->rank() == 2 && is_float32(weight) && prepared_.contains(weight) &&
           (bias == nullptr || (bias->rank() == 1 && prepared_.contains(bias)));
  }

  void keep_packable(Layers& layers) const {
    const Layers all = layers;
    std::erase_if(layers, [&](const Node* layer) {
      return !is_known_at(layer, all.front()) || prefers_epilogue(*layer, all) ||
             !multiplies_alike(*layer, *all.front());
    });
    std::int64_t columns = 0;
    for (const Node* layer : layers) columns += out_features(*layer);
    std::erase_if(layers, [&](const Node* layer) {
      return !rows_may_be_apart(graph_, layer->result(), columns);
    });
  }

  /// Whether the layer's weight and bias are there where the other one stands.
  bool is_known_at(const Node* layer, const Node* other) const {
    const auto is_known = [&](const Value* value) {
      return value == nullptr || value->producer() == nullptr ||
             position_.at(value->producer()) < position_.at(other);
    };
    return is_known(layer->input(1)) && is_known(layer->argument("bias").value_or_null());
  }

  static bool multiplies_alike(const Node& layer, const Node& other) {
    if (&layer.op() != &other.op()) return false;
    return layer.is("aten.linear.default") ||
           layer.argument("products").string() == other.argument("products").string();
  }

  static bool prefers_epilogue(const Node& layer, const Layers& siblings) {
    const Node* reader = only_reader(layer.result());
    if (reader == nullptr) return false;
    if (added_to(layer.result(), *reader) != nullptr) return true;
    if (!is_any(*reader, {"aten.relu.default", "aten.gelu.default", "aten.silu.default"})) {
      return false;
    }
    const Node* gate = only_reader(reader->result());
    if (gate == nullptr || !gate->is("aten.mul.Tensor")) return true;
    const Value* other = gate->input(gate->input(0) == reader->result() ? 1 : 0);
    return std::none_of(siblings.begin(), siblings.end(),
                        [&](const Node* sibling) { return sibling->result() == other; });
  }

  void pack(const Layers& layers) {
    Builder builder(graph_, layers.front());
    Value* weight = cat_weights(builder, layers);
    Value* all = linear_like(builder, *layers.front(), layers.front()->input(0), weight,
                             cat_biases(builder, layers));
    std::vector<Value*> parts;
    std::int64_t start = 0;
    for (const Node* layer : layers) {
      const std::int64_t end = start + out_features(*layer);
      parts.push_back(passes::slice(builder, all, all->rank() - 1, start, end));
      start = end;
    }
    for (std::size_t i = 0; i < layers.size(); ++i) replace_by(graph_, layers[i], parts[i]);
  }

  /// What a conversion to float32 reads, when all values are made by one, from one dtype.
  static std::vector<Value*> before_widening(const std::vector<Value*>& values) {
    std::vector<Value*> narrow;
    for (Value* value : values) {
      if (!value->produced_by("aten._to_copy.default")) return values;
      narrow.push_back(value->producer()->input(0));
      if (narrow.back()->dtype() != narrow.front()->dtype()) return values;
    }
    return narrow;
  }

  static Value* cat_weights(Builder& builder, const Layers& layers) {
    std::vector<Value*> weights;
    for (const Node* layer : layers) weights.push_back(layer->input(1));
    Value* together = passes::cat(builder, before_widening(weights), 0);
    return passes::convert(builder, together, DType::kFloat32);
  }

  /// Zeros where a layer has none; null when none has.
  static Value* cat_biases(Builder& builder, const Layers& layers) {
    std::vector<Value*> biases;
    bool any = false;
    for (const Node* layer : layers) {
      biases.push_back(layer->argument("bias").value_or_null());
      any = any || biases.back() != nullptr;
    }
    if (!any) return nullptr;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (biases[i] != nullptr) continue;
      biases[i] = passes::full(builder, {out_features(*layers[i])}, 0.0, DType::kFloat32);
    }
    return passes::cat(builder, biases, 0);
  }

  Graph& graph_;
  const std::unordered_set<const Value*> prepared_;
  std::unordered_map<const Node*, int> position_;
};

}  // namespace

void pack_projections(Graph& graph) { ProjectionPacking(graph).apply(); }

}  // namespace unfuse::cpu
