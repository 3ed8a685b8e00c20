// The graphs and nodes of a file, numbered as the importer numbers them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pt2/json_reading.h"

namespace unfuse::pt2 {

/// The same value twice: to read, and to write out in the file's order of keys.
struct RecordedJson {
  Json read;
  const nlohmann::ordered_json* text = nullptr;

  RecordedJson at(const char* key) const { return {read.at(key), &text->at(key)}; }
  RecordedJson at(std::size_t index) const { return {read.at(index), &text->at(index)}; }
  std::size_t size() const { return read.size(); }
};

struct RecordedNode {
  RecordedJson json;
  int level = 0;             ///< which graph it stands in
  std::optional<int> graph;  ///< the graph of a region that is part of ours
};

/// The program's graph, or that of a region in it.
struct RecordedLevel {
  RecordedJson json;
  int parent = -1;                ///< the level of the region's node
  int node = -1;                  ///< the region's node
  std::size_t first_operand = 0;  ///< of the region's node
  /// "tensor_values" and the like: table -> name -> type.
  std::map<std::string, std::unordered_map<std::string, const nlohmann::ordered_json*>> types;

  /// Null when the table has no such name.
  const nlohmann::ordered_json* type(const std::string& table, const std::string& name) const;
};

/// The members of a graph that give names a type.
inline constexpr const char* kTypeTables[] = {"tensor_values", "sym_int_values", "sym_float_values",
                                              "sym_bool_values", "custom_obj_values"};

class RecordedProgram {
 public:
  /// `graph` is "graph_module.graph".
  explicit RecordedProgram(const RecordedJson& graph);

  /// By Origin::recorded.
  const std::vector<RecordedNode>& nodes() const { return nodes_; }
  /// The program's own graph is the first.
  const std::vector<RecordedLevel>& levels() const { return levels_; }
  /// Whether `level` is `of` or lies in it.
  bool inside(int level, int of) const;

 private:
  int add_level(const RecordedJson& graph, int parent, int node);

  std::vector<RecordedNode> nodes_;
  std::vector<RecordedLevel> levels_;
};

/// The name that each result has in a node's "outputs", lists flattened; empty for None and
/// other constants.
std::vector<std::string> result_names(const Json& outputs);

/// Every name that a node's "inputs" hold, in the order in which read_argument() reads them; those
/// in graphs of its own left out.
std::vector<std::string*> operand_names(nlohmann::ordered_json& inputs);

}  // namespace unfuse::pt2
