// Reading torch.export archives (.pt2).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace unfuse::pt2 {

/// How the model is called, as pytree spec strings of torch.utils._pytree.
struct CallSignature {
  std::string in_spec;
  std::string out_spec;
  std::vector<std::string> argument_names;
};

struct ExportedProgram {
  Graph graph;
  CallSignature signature;
  /// Values of symbols when the model was exported, as far as the file tells.
  SymbolValues hints;
  std::string torch_version;
  int schema_minor = 0;
};

/// Reads an archive that torch.export.save of torch 2.9 or newer wrote. Weights are mapped from the
/// file: the returned graph's input tensors keep the mapping alive, and their pages are private to
/// us. Nothing is unpickled. `model` chooses one of several; empty takes the only one.
/// Throws Error (kInvalidFile) naming the file and the cause.
ExportedProgram read(const std::string& path, const std::string& model = "");

}  // namespace unfuse::pt2
