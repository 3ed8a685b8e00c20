// Nodes that are there for side conditions only. The exporter recorded them to guard its own
// tracing; sizes and dtypes of inputs are checked where a program is called.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

Replacement drop(RewriteContext&, const Node&) { return std::vector<Value*>{}; }

// (condition, message, token) -> token: only there to be ordered.
Replacement pass_token(RewriteContext&, const Node& node) {
  const Argument& token = node.argument("dep_token");
  if (!token.is_value()) return kKeep;
  return replace_by(token.value());
}

constexpr RewriteRow kRows[] = {
    {"aten._assert_async.default", drop},
    {"aten._assert_async.msg", drop},
    {"aten._assert_scalar.default", drop},
    {"aten._assert_tensor_metadata.default", drop},
    {"aten.sym_constrain_range.default", drop},
    {"aten.sym_constrain_range_for_size.default", drop},
    {"aten._functional_assert_async.msg", pass_token},
    {"aten._functional_assert_scalar.default", pass_token},
};

}  // namespace

std::span<const RewriteRow> assertion_rewrites() { return kRows; }

}  // namespace unfuse::passes
