// Every node gets a level: the number of times that the way to it changes from a node that is left
// out to one on the target. Nodes on the target that share a level are one piece. No path between
// two of them can leave the level and come back, so pieces are convex, there is no cycle between
// them, and there are as few as the graph allows.
#include "targets/partition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/verify.h"
#include "passes/core/to_core.h"

namespace unfuse {
namespace {

bool is_constant_input(const GraphInput& input) {
  return input.kind == InputKind::kParameter || input.kind == InputKind::kBuffer ||
         input.kind == InputKind::kConstant;
}

/// Left to run in the order that the program has them, one after the other.
bool keeps_its_place(const Node& node) {
  return node.op().opaque() || node.op().traits.random || node.op().schema.mutates();
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, const Target& target, Report& report)
      : graph_(graph), target_(target), report_(report) {}

  PartitionedGraph run() {
    number_inputs();
    classify();
    assign_levels();
    for (int level = 0; level <= last_level_; ++level) {
      add_target_piece(level);
      add_left_nodes(level);
    }
    for (const GraphOutput& output : graph_.outputs()) {
      result_.output_slots.push_back(output.value.is_value() ? slot(output.value.value()) : -1);
    }
    result_.slot_count = static_cast<int>(slot_count_);
    report_.partitions += std::count_if(result_.pieces.begin(), result_.pieces.end(),
                                        [](const Piece& piece) { return piece.on_target; });
    return std::move(result_);
  }

 private:
  void number_inputs() {
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value != nullptr) slots_[input.value] = slot_count_;
      ++slot_count_;
    }
  }

  int slot(const Value* value) {
    const auto [found, added] = slots_.emplace(value, slot_count_);
    if (added) ++slot_count_;
    return found->second;
  }

  bool is_on_target(const Node* node) const { return on_target_.contains(node); }

  /// Depends on parameters and constants alone, so that every piece that uses it has its own.
  bool is_free(const Value* value) const {
    if (value->producer() != nullptr) return free_.contains(value->producer());
    const GraphInput* input = graph_.input_of(value);
    return input != nullptr && is_constant_input(*input);
  }

  void classify() {
    std::map<std::tuple<std::string, std::string>, std::size_t> reported;
    for (const Node* node : graph_.nodes()) {
      const std::optional<std::string> reason = target_.refusal(*node);
      if (!reason) {
        on_target_.insert(node);
        const std::vector<Value*> operands = node->operands();
        const bool free = std::all_of(operands.begin(), operands.end(),
                                      [&](const Value* value) { return is_free(value); });
        if (free && !node->op().traits.random) free_.insert(node);
        continue;
      }
      const auto key = std::make_tuple(node->op().name, *reason);
      const auto [found, added] = reported.emplace(key, report_.left_to_torch.size());
      if (added) {
        report_.left_to_torch.push_back(
            {node->op().name, 0, *reason, node->origin().module_path, node->origin().source});
      }
      ++report_.left_to_torch[found->second].count;
    }
    find_pinned();
  }

  /// Free nodes that something outside of the pieces needs are placed like all others.
  void find_pinned() {
    const auto pin = [&](const Value* value) {
      if (value->producer() != nullptr && is_free(value)) pinned_.insert(value->producer());
    };
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value.is_value()) pin(output.value.value());
    }
    for (const Node* node : graph_.nodes()) {
      if (is_on_target(node)) continue;
      for (const Value* operand : node->operands()) pin(operand);
    }
  }

  bool is_placed(const Node* node) const { return !free_.contains(node) || pinned_.contains(node); }

  void assign_levels() {
    int last_in_place = 0;
    for (const Node* node : graph_.nodes()) {
      const bool here = is_on_target(node);
      int level = 0;
      for (const Value* operand : node->operands()) {
        const Node* producer = operand->producer();
        if (producer == nullptr || (free_.contains(producer) && here)) continue;
        const bool crosses = here && !is_on_target(producer);
        level = std::max(level, levels_.at(producer) + (crosses ? 1 : 0));
      }
      if (!here && keeps_its_place(*node)) level = last_in_place = std::max(level, last_in_place);
      levels_[node] = level;
      last_level_ = std::max(last_level_, level);
    }
  }

  void add_left_nodes(int level) {
    for (const Node* node : graph_.nodes()) {
      if (is_on_target(node) || levels_.at(node) != level) continue;
      Piece piece;
      piece.node = node;
      for (const Value* operand : node->operands()) piece.input_slots.push_back(slot(operand));
      for (const Value* result : node->results()) piece.output_slots.push_back(slot(result));
      result_.pieces.push_back(std::move(piece));
    }
  }

  void add_target_piece(int level) {
    std::unordered_set<const Node*> members;
    for (const Node* node : graph_.nodes()) {
      if (is_on_target(node) && is_placed(node) && levels_.at(node) == level) members.insert(node);
    }
    if (members.empty()) return;
    add_free_operands(members);
    result_.pieces.push_back(build_piece(members, level));
  }

  /// The free nodes that a piece needs come along.
  void add_free_operands(std::unordered_set<const Node*>& members) const {
    for (const Node* node = graph_.last_node(); node != nullptr; node = node->previous()) {
      if (!members.contains(node)) continue;
      for (const Value* operand : node->operands()) {
        if (operand->producer() != nullptr && is_free(operand)) members.insert(operand->producer());
      }
    }
  }

  Piece build_piece(const std::unordered_set<const Node*>& members, int level) {
    Piece piece;
    piece.on_target = true;
    piece.graph.symbols = graph_.symbols;
    std::unordered_map<const Value*, Value*> copies;
    add_inputs(members, piece, copies);
    for (const Node* node : graph_.nodes()) {
      if (members.contains(node)) copy_node(*node, piece.graph, copies);
    }
    for (const Node* node : graph_.nodes()) {
      const bool own = members.contains(node) && is_placed(node) && levels_.at(node) == level;
      if (!own) continue;
      for (const Value* result : node->results()) {
        if (!is_used_outside(result, members)) continue;
        GraphOutput output;
        output.value = copies.at(result);
        piece.graph.add_output(std::move(output));
        piece.output_slots.push_back(slot(result));
      }
    }
    return piece;
  }

  /// A user elsewhere on the target that has a copy of a free value of its own is no user.
  bool is_used_outside(const Value* value, const std::unordered_set<const Node*>& members) const {
    if (value->is_output()) return true;
    return std::any_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
      if (members.contains(use.node)) return false;
      return !(is_free(value) && is_on_target(use.node));
    });
  }

  void add_inputs(const std::unordered_set<const Node*>& members, Piece& piece,
                  std::unordered_map<const Value*, Value*>& copies) {
    const auto add = [&](const Value* value) {
      if (copies.contains(value)) return;
      if (value->producer() != nullptr && members.contains(value->producer())) return;
      GraphInput input;
      if (const GraphInput* original = graph_.input_of(value)) {
        input = *original;
        input.value = nullptr;
      }
      copies[value] = piece.graph.add_input(value->name(), value->type(), std::move(input));
      piece.input_slots.push_back(slot(value));
    };
    for (const Node* node : graph_.nodes()) {
      if (!members.contains(node)) continue;
      for (const Value* operand : node->operands()) add(operand);
    }
    for (const std::string& symbol : unbound_symbols(members, piece.graph)) {
      if (const Value* source = symbol_source(symbol)) add(source);
    }
  }

  /// Symbols in the piece, of strides too, that no size of its inputs is.
  std::vector<std::string> unbound_symbols(const std::unordered_set<const Node*>& members,
                                           const Graph& piece) const {
    std::vector<std::string> symbols;
    const auto collect = [&](const Argument& argument) {
      if (const auto* dim = argument.get_if<Dim>()) dim->collect_symbols(symbols);
      if (const auto* dims = argument.get_if<Argument::Ints>()) {
        for (const Dim& dim : *dims) dim.collect_symbols(symbols);
      }
    };
    const auto collect_type = [&](const Value* value) {
      if (!value->is_tensor()) return;
      for (const Dim& size : value->sizes()) size.collect_symbols(symbols);
      for (const Dim& stride : value->tensor().strides) stride.collect_symbols(symbols);
    };
    for (const Node* node : graph_.nodes()) {
      if (!members.contains(node)) continue;
      for (const Argument& argument : node->arguments()) collect(argument);
      for (const Value* result : node->results()) collect_type(result);
    }
    for (const GraphInput& input : piece.inputs()) collect_type(input.value);
    std::sort(symbols.begin(), symbols.end());
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    std::erase_if(symbols, [&](const std::string& symbol) {
      const Dim bare = Dim::symbol(symbol);
      return std::any_of(piece.inputs().begin(), piece.inputs().end(),
                         [&](const GraphInput& input) {
                           return input.kind == InputKind::kUser && binds(input.value, bare);
                         });
    });
    return symbols;
  }

  static bool binds(const Value* value, const Dim& symbol) {
    if (const auto* integer = std::get_if<IntType>(&value->type())) return integer->value == symbol;
    if (!value->is_tensor()) return false;
    return std::find(value->sizes().begin(), value->sizes().end(), symbol) != value->sizes().end();
  }

  /// An input of the whole graph that tells a symbol's value: an int where there is one, or else a
  /// tensor, that the piece then takes for its size alone.
  const Value* symbol_source(const std::string& symbol) const {
    const Dim bare = Dim::symbol(symbol);
    const Value* tensor = nullptr;
    for (const GraphInput& input : graph_.inputs()) {
      if (input.kind != InputKind::kUser || !binds(input.value, bare)) continue;
      if (!input.value->is_tensor()) return input.value;
      if (tensor == nullptr) tensor = input.value;
    }
    return tensor;
  }

  static void copy_node(const Node& node, Graph& graph,
                        std::unordered_map<const Value*, Value*>& copies) {
    Arguments arguments = node.arguments();
    for (Value* operand : node.operands()) {
      for (Argument& argument : arguments) argument.replace_value(operand, copies.at(operand));
    }
    std::vector<Type> types;
    for (const Value* result : node.results()) types.push_back(result->type());
    const std::string hint = node.results().empty() ? "" : node.result()->name();
    Node* copy =
        graph.create_node(node.op(), std::move(arguments), std::move(types), nullptr, hint);
    copy->set_origin(node.origin());
    copy->set_import_index(node.import_index());
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      graph.rename(copy->results()[i], node.results()[i]->name());
      copies[node.results()[i]] = copy->results()[i];
    }
  }

  const Graph& graph_;
  const Target& target_;
  Report& report_;
  std::unordered_set<const Node*> on_target_;
  std::unordered_set<const Node*> free_;
  std::unordered_set<const Node*> pinned_;
  std::unordered_map<const Node*, int> levels_;
  int last_level_ = 0;
  std::unordered_map<const Value*, int> slots_;
  int slot_count_ = 0;
  PartitionedGraph result_;
};

}  // namespace

PartitionedGraph partition(Graph& graph, const Target& target, Report& report) {
  passes::to_core(graph, [&target](const Node& node) { return !target.has(node.op()); });
  verify_where_wanted(graph, "to_core");
  return Partitioner(graph, target, report).run();
}

}  // namespace unfuse
