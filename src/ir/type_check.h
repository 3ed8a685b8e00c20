// Checks of recorded types against what ops give.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace unfuse {

/// Types in a graph come from outside: from a file, or from whoever traced the model. Kernels trust
/// them, so somebody must not.
///
/// Throws Error (kInvalidArgument) when the op's rule refuses the node's arguments, or gives
/// results of another dtype, rank or size than the node has. Sizes that cannot be compared for all
/// values of the symbols pass, and so does what the rule cannot tell; SizeChecker looks again when
/// they have values. Ops without a rule pass.
void check_types(const Node& node, const SymbolRanges& symbols);

/// The same with a value for every symbol, so that every size is compared, and what the rule cannot
/// tell is an Error (kUnsupported): kernels would have to trust it. Dtypes are not: a target
/// may have its kernels write wider elements than the op gives.
class SizeChecker {
 public:
  /// `symbols` outlives the checker.
  explicit SizeChecker(const SymbolValues& symbols) : symbols_(&symbols) {}

  /// Nodes are given in program order. Throws as check_types() does, and when a symbol has no
  /// value.
  void check(const Node& node);

 private:
  Value* concrete(const Value* value);
  Arguments concrete(const Arguments& arguments);
  Type concrete(const Type& type) const;

  const SymbolValues* symbols_;
  Graph shadow_;  // the same values, with integers for sizes
  std::unordered_map<const Value*, Value*> values_;
};

}  // namespace unfuse
