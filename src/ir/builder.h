// Builder: makes nodes by op name, fills defaults in, works out result types.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace unfuse {

struct KeywordArgument {
  std::string name;
  Argument value;
};

/// Arguments in schema order with defaults filled in. Throws Error (kInvalidArgument) for an
/// unknown keyword, one given twice, or a missing argument without a default.
Arguments complete_arguments(const Op& op, Arguments positional,
                             const std::vector<KeywordArgument>& keywords);

/// Throws Error (kInvalidArgument) naming the argument that does not fit the schema's type.
/// What has another but equivalent form is put right: an int where a float is wanted, one int
/// where a list is.
void conform_arguments(const Op& op, Arguments& arguments);

/// Inserts nodes at one place of a graph. src/ops/aten.h adds a function an op on top.
class Builder {
 public:
  /// New nodes go before `before` (the end when null) and take its origin.
  Builder(Graph& graph, Node* before);

  Graph& graph() const { return *graph_; }
  Node* insertion_point() const { return before_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  const Origin& origin() const { return origin_; }

  /// Makes a node. Result types come from the op's rule; throws Error (kInternal) when it has none.
  Node* node(const Op& op, Arguments positional, const std::vector<KeywordArgument>& keywords = {});
  /// The same for an op with one result.
  Value* call(const Op& op, Arguments positional,
              const std::vector<KeywordArgument>& keywords = {});

 private:
  Graph* graph_;
  Node* before_;
  Origin origin_;
};

}  // namespace unfuse
