// Reading torch.export archives (.pt2).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace unfuse::pt2 {

class Archive;

/// How the model is called, as pytree spec strings of torch.utils._pytree. call_signature.h reads
/// them.
struct CallSignature {
  /// The tree of (positional arguments, keyword arguments); empty when the file has none.
  std::string in_spec;
  std::string out_spec;
  /// Names of the parameters of forward() that were given, positional ones first.
  std::vector<std::string> argument_names;
  /// Class name -> field names, of the namedtuples in both specs.
  std::map<std::string, std::vector<std::string>> namedtuple_fields;
};

struct ExportedProgram {
  /// Inputs, nodes and outputs in the file's order. A Node's import_index() is its place in the
  /// file's list of nodes; values have the file's names. Arithmetic on symbolic sizes is not there:
  /// its results are Dims in arguments. Symbols named u0, u1, ... are data-dependent: an op of the
  /// graph gives them their value, and a symbol whose name is an expression, like
  /// "TruncToInt(Mul(1.5, s0))", is one that we cannot compute.
  Graph graph;
  CallSignature signature;
  /// Values of symbols when the model was exported, as far as the file tells.
  SymbolValues hints;
  /// Path -> class of the modules that nodes come from: "encoder" ->
  /// "torch.nn.modules.transformer.TransformerEncoder"; the model itself has the path "".
  std::map<std::string, std::string> module_classes;
  std::string torch_version;
  int schema_minor = 0;
  /// Where the program was read from, and its name there: what the graph does not model is written
  /// from it.
  std::shared_ptr<const Archive> archive;
  std::string model;
  /// Names that values had in the file, of those whose name in the graph is another: a graph has
  /// each name once, a file once a region.
  std::map<std::string, std::string> file_names;
};

/// Reads an archive that torch.export.save of torch 2.9 or newer wrote. Weights are mapped from the
/// file: the returned graph's input tensors keep the mapping alive, and their pages are private to
/// us and read-only. Nothing is unpickled. `model` chooses one of several; empty takes the only
/// one. The file may be replaced by another while it is mapped, but not truncated or written to.
/// Throws Error: kInvalidFile naming the file and the cause; kInvalidArgument when there is no such
/// file or no such model in it.
ExportedProgram read(const std::string& path, const std::string& model = "");

/// The same without the elements of weights, whatever the archive holds of them: for what looks at
/// the graph alone.
ExportedProgram read_without_weights(const std::string& path, const std::string& model = "");

/// Names of the models in an archive, sorted. Throws as read() does.
std::vector<std::string> model_names(const std::string& path);

}  // namespace unfuse::pt2
