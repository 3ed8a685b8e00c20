// The verifier: what every graph must satisfy after every pass.
#pragma once

#include <string>

#include "ir/graph.h"

namespace unfuse {

/// Checks that arguments fit their schemas, operands are defined before they are used, use lists
/// are true, names are unique, and no output is a stranger. Throws Error (kInternal) naming the
/// node and, when given, the pass that left the graph so.
void verify(const Graph& graph, const std::string& after_pass = "");

/// verify() in debug builds, and wherever the environment variable UNFUSE_VERIFY is set: for
/// pipelines, after each pass.
void verify_where_wanted(const Graph& graph, const char* after_pass);

}  // namespace unfuse
