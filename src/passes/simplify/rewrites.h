// The rewrites that simplify() follows, a file a family.
#pragma once

#include <span>

#include "passes/canonical.h"
#include "passes/rewrite.h"

namespace unfuse::passes {

/// Views of views, and views that change nothing.
std::span<const RewriteRow> view_identities();
/// Arithmetic that changes nothing, masks that are read back from what they were filled into.
std::span<const RewriteRow> arithmetic_identities();

/// Makes one of nodes that compute the same. Returns whether anything changed.
bool merge_common_subexpressions(Graph& graph);

}  // namespace unfuse::passes
