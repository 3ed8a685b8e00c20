// Inputs and outputs of an exported program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pt2/call_signature.h"
#include "pt2/exported_program.h"
#include "pt2/json_reading.h"
#include "pt2/node_import.h"
#include "pt2/scope.h"
#include "pt2/symbol_table.h"

namespace unfuse::pt2 {

/// The root module's specs in "module_call_graph"; empty where the file has none.
CallSignature read_call_signature(const Json& graph_module);

/// Reads "graph.inputs" with "signature.input_specs", and "graph.outputs" with "output_specs".
class SignatureImporter {
 public:
  SignatureImporter(Graph& graph, const Json& graph_module, SymbolTable& symbols, Scope& scope);

  /// Adds all inputs, in the file's order. GraphInput::target is the parameter's or buffer's name,
  /// or for a user input the leaf's name in the call: "batch['mask']". Names fall back to the
  /// file's placeholders when `signature` does not fit the inputs. Fails where the signature and
  /// the graph disagree.
  void import_inputs(const CallSignature& signature);
  /// Adds all outputs, in the file's order; mutations stand there before the user's outputs.
  void import_outputs();

 private:
  void import_input(const Json& argument, const Json& spec);
  void add_tensor(const Json& name, InputKind kind, const std::string& target, bool persistent);
  void add_user_input(const Json& argument);
  void add_opaque(const Json& name, const std::string& class_name, InputKind kind);
  void import_output(const Json& argument, const Json& spec);
  std::string next_leaf_name(const std::string& placeholder);
  std::string mutated_input(const Json& name, InputKind kind) const;

  Graph* graph_;
  Json graph_json_;
  Json signature_;
  ValueTypes types_;
  SymbolTable* symbols_;
  Scope* scope_;
  std::vector<std::string> leaf_names_;
  std::size_t next_leaf_ = 0;
  std::map<std::string, std::string> user_targets_;  // placeholder -> target
};

}  // namespace unfuse::pt2
