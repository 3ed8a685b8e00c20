// The part of a graph that padded rows pass through for nothing.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "targets/cpu/fusion/row_predicate.h"

namespace unfuse::cpu {

/// A reader outside of the region, to which some rows make no difference.
struct RowSink {
  Node* node = nullptr;
  int argument = 0;
  /// The rows that it looks at; none where it is the first row of each sequence.
  std::optional<RowPredicate> wanted;
  /// Whether NaN in a row that is not wanted reaches the result: 0 * NaN.
  bool lets_nan_through = false;

  Value* value() const { return node->input(argument); }
};

/// Nodes that do with each row of [batch, length] the same, and attention in which rows see but the
/// keys that `visible` says; whoever else reads their results is a sink.
class PaddedRegion {
 public:
  /// Around attention like this one; without attention where there is no such region. `prepared`
  /// values are looked at as they are.
  PaddedRegion(Graph& graph, const std::unordered_set<const Value*>& prepared,
               const Node& attention);

  bool has_attention() const { return !attentions_.empty(); }
  const RowSizes& rows() const { return rows_; }
  const RowPredicate& visible() const { return visible_; }
  /// In program order.
  const std::vector<Node*>& nodes() const { return nodes_; }
  const std::vector<Node*>& attentions() const { return attentions_; }
  const std::vector<RowSink>& sinks() const { return sinks_; }
  bool contains(const Node* node) const { return members_.contains(node); }
  /// The arguments whose rows the node takes.
  std::vector<int> row_arguments(const Node& node) const;

 private:
  struct Operand {
    int argument = 0;
    RowLayout layout;
  };
  using Operands = std::vector<Operand>;

  void find_sinks(const Graph& graph);
  void add_sinks(Node* node);
  void add_masked(Node* node, int masked, int mask, bool is_negated, bool lets_nan_through);
  void collect();
  void visit(Value* value, const RowLayout& layout);
  void shrink();
  bool is_valid(const Node& node) const;
  bool is_sink(const Use& use) const;
  void finish(const Graph& graph);

  std::optional<Operands> operands_of(const Node& node, const RowLayout& result) const;
  std::optional<Operands> pointwise_operands(const Node& node, const RowLayout& result) const;
  std::optional<Operands> attention_operands(const Node& node, const RowLayout& result) const;
  std::optional<Operands> layer_operands(const Node& node, const RowLayout& result,
                                         std::int64_t trailing) const;

  const std::unordered_set<const Value*>& prepared_;
  RowSizes rows_;
  RowPredicate visible_;
  std::vector<RowSink> sinks_;
  std::unordered_map<const Value*, RowLayout> layouts_;
  std::unordered_set<const Value*> contradicted_;
  std::unordered_map<const Node*, Operands> members_;
  std::vector<Value*> to_visit_;
  std::vector<Node*> nodes_;
  std::vector<Node*> attentions_;
};

/// What an attention's mask says of keys, when it says the same to all rows and heads.
std::optional<RowPredicate> visible_keys(const Node& attention, const RowSizes& rows);

/// Of the queries [batch, heads, length, ...] of an attention, if its keys are as many.
std::optional<RowSizes> row_sizes(const Node& attention);

}  // namespace unfuse::cpu
