// A graph as the export schema writes it: nodes as they were recorded where they still say what the
// graph says, others anew.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pt2/node_import.h"
#include "pt2/recorded_program.h"
#include "pt2/size_export.h"
#include "pt2/symbol_table.h"
#include "pt2/value_export.h"
#include "pt2/written_names.h"

namespace unfuse::pt2 {

/// What the exporters of one program share.
struct ExportSources {
  const Graph* graph = nullptr;
  const RecordedProgram* recorded = nullptr;
  SymbolTable* symbols = nullptr;
  const SizeExporter* sizes = nullptr;
  /// ExportedProgram's.
  const std::map<std::string, std::string>* file_names = nullptr;
  /// Regions become the nodes in them.
  bool dissolve_regions = false;
};

/// Thrown when the nodes of a region no longer give what the region's results were.
struct RegionChanged {};

/// Writes one graph of a program: define its inputs, then write_nodes(), then ask for what to write
/// as its results.
class LevelExporter {
 public:
  LevelExporter(const ExportSources& sources, int level);

  /// An input with the meaning that it has inside; an empty one for what our graph does not hold.
  void define_input(const std::string& name, const std::optional<Meaning>& meaning);
  /// An input that was not recorded; returns its name.
  std::string add_input(Value* value);

  /// The nodes of the program that stand in this level or in regions of it, in program order.
  void write_nodes(const std::vector<Node*>& nodes);

  /// A result, as recorded when that still means `value`; it may need nodes.
  nlohmann::ordered_json result(const Argument& value, const RecordedJson* recorded);

  /// What a result of a region is that stays as recorded. Throws RegionChanged when that is gone.
  Argument recorded_result(const RecordedJson& recorded);

  /// "nodes", "tensor_values" and the like, with the rest as recorded; "inputs" and "outputs" are
  /// the caller's. Called once.
  nlohmann::ordered_json take();

 private:
  struct Written {
    nlohmann::ordered_json node;
    bool arithmetic = false;  ///< on sizes: goes when what used it has gone
    int recorded = -1;
  };

  const RecordedNode& recorded(int serial) const {
    return sources_.recorded->nodes().at(static_cast<std::size_t>(serial));
  }
  const RecordedLevel& level_of(int serial) const {
    return sources_.recorded->levels().at(static_cast<std::size_t>(recorded(serial).level));
  }
  std::string target_name(int serial) const {
    return op_name_of_target(recorded(serial).json.read.at("target").string());
  }
  int own_level(const Node& node) const;
  void find_pending(const std::vector<Node*>& nodes);
  void write_pending(int before);
  bool write_arithmetic(int serial);
  /// Throws RegionChanged when the operand is gone.
  Argument recorded_operand(const Json& operand) const;
  void write_region(int serial, const std::vector<Node*>& nodes);
  void write_node(Node* node);
  bool write_as_recorded(Node* node);
  void write_renamed(Node* node);
  void write_anew(Node* node);
  bool says_the_same(const Node& node, const Json& recorded) const;
  void copy_types(const RecordedNode& node, const std::vector<std::string>& names);
  void define_result(const std::string& name, Value* value, int serial);
  std::string file_name(const Value* value) const;
  std::string name_of_value(const Value* value) const;

  std::string name_of_size(const Dim& size);
  nlohmann::ordered_json size_operand(const Dim& size);
  std::string write_size(const Dim& size);
  std::string write_size_call(const std::string& target, const std::string& base,
                              nlohmann::ordered_json inputs, const Dim& size);
  std::string solve_for(const Dim& symbol);
  nlohmann::ordered_json metadata(int serial) const;
  void use(const nlohmann::ordered_json& argument);
  void drop_unused_arithmetic();

  const ExportSources& sources_;
  const RecordedLevel& level_;
  int index_;
  WrittenNames names_;
  std::vector<int> pending_;  // recorded nodes that the graph does not hold
  std::vector<Written> written_;
  // Types of names, by the member of the schema: "tensor_values" -> name -> type
  std::map<std::string, std::map<std::string, nlohmann::ordered_json>> types_;
  std::vector<std::string> results_;  // names that the results use
  int current_ = -1;                  // the recorded node that is written, or stands behind it
};

}  // namespace unfuse::pt2
