// Inputs and outputs of a program, as the export schema writes them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "ir/graph.h"
#include "pt2/level_export.h"
#include "pt2/recorded_program.h"
#include "pt2/symbol_table.h"

namespace unfuse::pt2 {

/// Everything stays as recorded; constants and mutations that passes made are added.
class SignatureExporter {
 public:
  SignatureExporter(const Graph& graph, const RecordedJson& graph_module, SymbolTable& symbols);

  void export_inputs(LevelExporter& exporter);
  void export_outputs(LevelExporter& exporter);

  const std::vector<const GraphInput*>& new_constants() const { return new_constants_; }
  const nlohmann::ordered_json& inputs() const { return inputs_; }
  const nlohmann::ordered_json& outputs() const { return outputs_; }
  nlohmann::ordered_json signature() const;

 private:
  nlohmann::ordered_json output_spec(const GraphOutput& output,
                                     const nlohmann::ordered_json& argument) const;

  const Graph& graph_;
  RecordedJson module_;
  SymbolTable& symbols_;
  std::vector<const GraphInput*> new_constants_;
  nlohmann::ordered_json inputs_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json input_specs_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json outputs_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json output_specs_ = nlohmann::ordered_json::array();
  std::map<std::string, std::string> user_names_;  // target -> placeholder
};

}  // namespace unfuse::pt2
