// Opening fused ops. Each decomposition is a file here, written as PyTorch code would be.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "passes/decompose/node_notes.h"
#include "unfuse/program.h"
#include "unfuse/report.h"

namespace unfuse::passes {

struct DecomposeContext {
  Builder& builder;  ///< inserts before the node that is opened, with its origin
  const CompileOptions& options;
  NodeNotes& notes;  ///< are added to through note()
  const Node& node;  ///< the node that is opened
  /// Attention is to mean what SDPA means: a row whose keys are all masked gives zeros, a float
  /// mask is added to the scores, also where the op reads it as bool.
  bool sdpa_semantics = false;

  /// Notes something of the node that is opened; the text goes on behind its op, as a sentence
  /// does.
  void note(const std::string& text) const { notes.add(node, text); }
  /// Throws Error (kInvalidArgument) with the node's place.
  [[noreturn]] void refuse(const std::string& message) const;
  /// True when the sizes differ for every value of the symbols.
  bool differ(const Dim& left, const Dim& right) const;
};

/// Builds what `node` stands for; returns one value a result, null for a result that is None or
/// that nobody uses. An empty list leaves the node as it is; the reason goes to the notes.
/// Builds ops of the canonical dialect (docs/dialect.md) and unfuse.attention.
/// Throws Error (kInvalidArgument) for what the real op refuses too.
using Decomposition = std::vector<Value*> (*)(const DecomposeContext& context, const Node& node);

struct DecompositionRow {
  const char* op;
  Decomposition decompose;
};

/// Opens every node that has a decomposition, and counts it in the report when its op is `fused`.
/// What takes the place of a result has its dtype and sizes; else throws Error (kInternal).
void decompose(Graph& graph, const CompileOptions& options, Report& report);

/// Opens one node; false when it has no decomposition, or stays as it is for a reason that the
/// notes give: they are for the caller to add to the report. `sdpa_semantics` is
/// DecomposeContext's.
bool open_node(Graph& graph, Node* node, const CompileOptions& options, Report& report,
               NodeNotes& notes, bool sdpa_semantics = false);

/// The table that decompose() follows.
std::span<const DecompositionRow> decompositions();

}  // namespace unfuse::passes
