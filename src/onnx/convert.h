// An opened graph as an ONNX model.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/model.h"

namespace unfuse::onnx {

/// Names of the call's results as the model has them, "" for what is no tensor. Ask before the
/// passes run, which may put other values in an output's place.
std::vector<std::string> output_names(const Graph& graph);

/// Whether there is a form of the op in ONNX here. A node of it may still be refused.
bool has_form(const Op& op);

/// Says a graph that passes::run_pipeline has left in the words of ONNX. Inputs and outputs of the
/// call have the model's names, sizes the names of their symbols; weights are not copied. What the
/// model writes to becomes an output more, named TARGET.updated; a buffer that it writes to becomes
/// an input as well, whose default is what the buffer holds. Outputs that are no tensors are left
/// out. `where` names the model in messages.
/// Throws Error (kUnsupported) that lists every op that has no ONNX form, with its reason and
/// place; (kInvalidArgument) for an opset that is not from kOldestOpset to kNewestOpset.
Model convert(const Graph& graph, int opset, const std::vector<std::string>& output_names,
              const std::string& where);

}  // namespace unfuse::onnx
