// Nodes of an exported program, as nodes of our graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pt2/json_reading.h"
#include "pt2/region_import.h"
#include "pt2/scope.h"
#include "pt2/symbol_table.h"

namespace unfuse::pt2 {

/// A name that the file defines, with its type.
struct NamedType {
  Json name;
  Type type;
};

/// Types of the names in a graph of the file ("tensor_values" and its like).
class ValueTypes {
 public:
  ValueTypes(const Json& graph, SymbolTable& symbols) : graph_(graph), symbols_(&symbols) {}

  Type tensor(const Json& name) const { return tensor_named(name.string()); }
  Type tensor_named(const std::string& name) const;
  Dim sym_int(const Json& name) const;
  /// A float or bool when it is constant, else its type.
  Argument sym_float(const Json& name) const;
  Argument sym_bool(const Json& name) const;

 private:
  Json graph_;
  SymbolTable* symbols_;
};

/// Adds the nodes of a program to a graph, one by one in program order.
class NodeImporter {
 public:
  /// What importers of one program share.
  struct Progress {
    /// ExportedProgram's.
    std::map<std::string, std::string>* module_classes = nullptr;
    std::map<std::string, std::string>* file_names = nullptr;
    /// Nodes seen so far, those in regions after the region's own: Origin::recorded.
    int seen = 0;
  };

  NodeImporter(Graph& graph, const Json& graph_json, SymbolTable& symbols, Scope& scope,
               Progress& progress)
      : graph_(&graph),
        types_(graph_json, symbols),
        symbols_(&symbols),
        scope_(&scope),
        progress_(&progress) {}

  /// Known ops get their arguments in schema order; unknown ones, and those with arguments that our
  /// graph cannot hold, become opaque; the latter get names like "aten.mul.Tensor(opaque)".
  /// Arithmetic on sizes leaves no node behind: its result is a Dim. `index` is the node's place in
  /// the file. A region that torch runs in a mode which changes nothing here becomes its nodes.
  /// Fails at `node` when the arguments or results do not fit the op's schema, and on names that
  /// are undefined or defined twice.
  void import(const Json& node, int index);

 private:
  /// What a node defines, in the file's order, lists flattened.
  struct Result {
    std::optional<Json> name;  ///< empty for None
    Type type;
    Meaning meaning;  ///< a null Value* when it is the value that the node gets
  };
  struct NamedArgument {
    std::string name;
    bool keyword = false;
    ImportedArgument value;
  };

  std::vector<NamedArgument> read_arguments(const Json& inputs) const;
  std::vector<Result> read_results(const Json& outputs) const;
  void read_result(const Json& output, std::vector<Result>& results) const;
  Result tensor_result(const Json& tensor) const;
  static bool all_held(const std::vector<NamedArgument>& arguments, const std::vector<Type>& types);
  bool is_size_arithmetic(const std::string& target, const std::vector<Result>& results) const;
  Node* create(const Json& node, const std::string& op_name, std::vector<NamedArgument> arguments,
               const std::vector<Result>& results, int serial);
  void check_results(const Json& node, const Op& op, const std::string& place) const;
  Arguments known_arguments(const Json& node, const Op& op, std::vector<NamedArgument> arguments,
                            const std::string& place) const;
  const Op& opaque_op(const std::string& name, const std::vector<NamedArgument>& arguments,
                      const std::vector<Type>& types);
  void check_recorded_types(const Json& node, const Node& made) const;
  void define_results(const std::vector<Result>& results, Node* node);
  void import_region(const Json& node, const Region& region, int index);

  Graph* graph_;
  ValueTypes types_;
  SymbolTable* symbols_;
  Scope* scope_;
  Progress* progress_;
};

/// True for Python's operators, torch.sym_max and their like, and reads of sizes: arithmetic
/// without a side effect, which leaves no node behind where its result is known.
bool is_pure_scalar_target(const std::string& target);

/// "aten.linear.default" of "torch.ops.aten.linear.default"; other targets stay as they are.
std::string op_name_of_target(const std::string& target);

/// Removes float and bool arithmetic whose results nobody uses.
void erase_unused_scalar_nodes(Graph& graph);

}  // namespace unfuse::pt2
