// The CPU target's own passes, in a file each; pipeline.cc is their order and nothing else.
#pragma once

#include "ir/graph.h"

namespace unfuse::cpu {

/// Runs all passes below, verifying after each in debug builds.
void run_fusion_pipeline(Graph& graph);

/// Computes in float32 what the graph computes in float16 and bfloat16: 16-bit floats are
/// converted where they come in and where they leave. Where the model itself converts to a 16-bit
/// dtype, the values are rounded to it.
void widen(Graph& graph);

}  // namespace unfuse::cpu
