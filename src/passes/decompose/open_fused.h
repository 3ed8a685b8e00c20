// Opening the fused ops of a graph and nothing else, for graphs that go on to other tools.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "unfuse/report.h"

namespace unfuse::passes {

enum class OpenTo {
  kSdpa,  ///< aten.scaled_dot_product_attention stays, and is what attention becomes
  kCore,  ///< core ATen, in which attention is products and a softmax
};

struct OpenRequest {
  OpenTo to = OpenTo::kSdpa;
  /// Ops to open, and no others: "_native_multi_head_attention", with or without "aten." in front
  /// and ".default" behind. Empty opens all that there are.
  std::vector<std::string> only;
  /// Attention means what aten.scaled_dot_product_attention means, where the fused op means
  /// something else: a row whose keys are all masked gives zeros, a float mask is added.
  bool sdpa_semantics = false;
};

/// Full names of the ops that a request opens. Throws Error (kInvalidArgument) naming what cannot
/// be opened, and what can.
std::vector<std::string> ops_to_open(const OpenRequest& request);

/// Opens them. Takes a graph as a file has it, mutations included, and leaves all of its other
/// nodes as they were; no op of ours stays in it. Reports what was opened, what was not and why,
/// and with `sdpa_semantics` which rows may differ.
void open_fused(Graph& graph, const OpenRequest& request, Report& report);

}  // namespace unfuse::passes
