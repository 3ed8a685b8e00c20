// The order of the target-independent passes, and nothing else.
#pragma once

#include "ir/graph.h"
#include "passes/decompose/decompose.h"
#include "unfuse/program.h"
#include "unfuse/report.h"

namespace unfuse::passes {

/// functionalize -> normalize -> decompose -> simplify -> fold, some of it more than once, with
/// verify_where_wanted() after each. What was opened, and notes for the user, are added to the
/// report.
void run_pipeline(Graph& graph, const CompileOptions& options, Report& report);

}  // namespace unfuse::passes
