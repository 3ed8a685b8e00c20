// Rewriting a graph node by node: a table from op to rewrite, followed until nothing changes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"

namespace unfuse::passes {

/// What stands for a node from now on: one value a result, null for a result that nobody uses.
/// Empty when the rewrite does not apply; then it must have built nothing.
using Replacement = std::optional<std::vector<Value*>>;

inline constexpr std::nullopt_t kKeep = std::nullopt;
inline Replacement replace_by(Value* value) { return std::vector<Value*>{value}; }

/// What a rewrite works with. The builder inserts before the node.
class RewriteContext {
 public:
  RewriteContext(Graph& graph, Node* node) : builder(graph, node), graph_(graph) {}

  /// Makes a node with one result; `op` is in the catalogue.
  Value* call(std::string_view op, Arguments positional,
              const std::vector<KeywordArgument>& keywords = {});
  /// The same, but null when the result would not have the dtype and sizes of `like`; then nothing
  /// is built.
  Value* try_call(const Value* like, std::string_view op, Arguments positional,
                  const std::vector<KeywordArgument>& keywords = {});
  /// A node of `op` in place of `node`, with the types that `node` has; kKeep when that is what
  /// `node` is.
  Replacement become(const Node& node, std::string_view op, Arguments positional,
                     const std::vector<KeywordArgument>& keywords = {});
  const SymbolRanges& symbols() const { return graph_.symbols; }
  Graph& graph() const { return graph_; }

  Builder builder;

 private:
  Graph& graph_;
};

/// Takes a node of the row's op. What it returns computes the same elements, of the same dtype and
/// sizes; strides are looked after here.
using Rewrite = Replacement (*)(RewriteContext& at, const Node& node);

struct RewriteRow {
  std::string_view op;
  Rewrite rewrite;
};

/// Rows by op. Several rows may name one op; they are tried in order.
class RewriteTable {
 public:
  RewriteTable() = default;
  explicit RewriteTable(std::span<const RewriteRow> rows) { add(rows); }
  void add(std::span<const RewriteRow> rows);
  std::span<const Rewrite> find(std::string_view op) const;

 private:
  std::unordered_map<std::string_view, std::vector<Rewrite>> rows_;
};

/// Whether a node is to be rewritten.
using NodePredicate = std::function<bool(const Node& node)>;

/// Applies the table to every node (that `wants` accepts, where one is given), and to the nodes
/// that rewrites build, in program order. Returns whether anything changed.
bool rewrite_nodes(Graph& graph, const RewriteTable& table, const NodePredicate& wants = nullptr);

/// Makes `to` stand for `from`, which has the same elements. A graph output keeps a tensor of its
/// own, with the strides that `from` had: a clone is inserted before `before` where `to` cannot be
/// handed out as it is. Returns whether anything changed.
bool replace_by_equal(Graph& graph, Value* from, Value* to, Node* before);

}  // namespace unfuse::passes
