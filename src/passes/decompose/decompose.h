// Opening fused ops. Each decomposition is a file here, written as PyTorch code would be.
#pragma once

#include <span>
#include <string_view>

#include "ir/builder.h"
#include "unfuse/program.h"
#include "unfuse/report.h"

namespace unfuse::passes {

struct DecomposeContext {
  Builder& builder;  ///< inserts before the node that is opened, with its origin
  const CompileOptions& options;
  Report& report;    ///< notes go here
};

/// Builds what `node` stands for; returns one value a result, null for a result that is None.
/// Throws Error (kInvalidArgument) for what the real op refuses too.
using Decomposition = std::vector<Value*> (*)(const DecomposeContext& context, const Node& node);

struct DecompositionRow {
  const char* op;
  Decomposition decompose;
};

/// Opens every node that has a decomposition, and counts it in the report when its op is `fused`.
void decompose(Graph& graph, const CompileOptions& options, Report& report);

/// The table that decompose() follows.
std::span<const DecompositionRow> decompositions();

}  // namespace unfuse::passes
