// The CPU target's own passes, in a file each; pipeline.cc is their order and nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "unfuse/program.h"

namespace unfuse::cpu {

/// Runs all passes below, with verify_where_wanted() after each. The variable UNFUSE_SKIP_FUSION of
/// the environment, "all" or names with commas between them, leaves passes out, so that plans can
/// be compared. Returns what a report should tell.
std::vector<std::string> run_fusion_pipeline(Graph& graph, const CompileOptions& options);

/// Whether UNFUSE_SKIP_FUSION names this pass. "fuse_pointwise" is what group_pointwise() does.
bool is_fusion_skipped(std::string_view pass);

/// Linear layers and attention of bfloat16 are told to multiply in bfloat16, where that is wanted.
/// Throws Error (kUnsupported) where it is asked for and the machine cannot.
void multiply_bfloat16(Graph& graph, Arithmetic arithmetic);

/// Computes in float32 what the graph computes in float16 and bfloat16: 16-bit floats are
/// converted where they come in and where they leave. Where the model itself converts to a 16-bit
/// dtype, the values are rounded to it.
void widen(Graph& graph);

/// RMS norm that a model spells out becomes aten.rms_norm.
void recognize_rms_norm(Graph& graph);

/// Permutations of a linear layer's rows move behind it, where they are views.
void order_linear_rows(Graph& graph);

/// Rows that padding fills, and that make no difference to any result, are left out of what costs.
/// Returns a note a place where that is so.
std::vector<std::string> pack_padded_rows(Graph& graph);

/// Linear layers that read one tensor become one wide layer and slices of its result.
void pack_projections(Graph& graph);

/// linear, relu or gelu or silu, and an add become one unfuse.linear.
void fuse_linear_epilogues(Graph& graph);

/// An add and the layer norm of the sum become one unfuse.add_layer_norm.
void fuse_residual_norm(Graph& graph);

}  // namespace unfuse::cpu
