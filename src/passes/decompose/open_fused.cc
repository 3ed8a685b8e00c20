#include "passes/decompose/open_fused.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/core_aten.h"
#include "passes/core/to_core.h"
#include "passes/decompose/attention_to_aten.h"
#include "passes/decompose/decompose.h"
#include "passes/passes.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

constexpr std::string_view kSdpa = "aten.scaled_dot_product_attention.default";

std::string full_name(const std::string& name) {
  std::string full = name.starts_with("aten.") ? name : "aten." + name;
  if (std::count(full.begin(), full.end(), '.') == 1) full += ".default";
  return full;
}

// An op that we do not know may write to what it is given.
bool may_mutate(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    const std::vector<Value*> operands = node->operands();
    const bool takes_tensors = std::any_of(operands.begin(), operands.end(),
                                           [](const Value* value) { return value->is_tensor(); });
    if (node->op().schema.mutates() || (node->op().opaque() && takes_tensors)) return true;
  }
  return false;
}

// Hides what made a node's operands: in a graph with mutations an operand may hold other elements
// by now than those that its producer gave.
class HiddenProducers {
 public:
  HiddenProducers(Graph& graph, Node* node) : graph_(graph), first_(graph.inputs().size()) {
    for (Value* operand : node->operands()) {
      if (operand->producer() == nullptr || !operand->is_tensor()) continue;
      Value* stand_in = graph.add_input("hidden", operand->type(), {});
      replace(node, operand, stand_in);
      hidden_.emplace_back(operand, stand_in);
    }
  }
  HiddenProducers(const HiddenProducers&) = delete;
  HiddenProducers& operator=(const HiddenProducers&) = delete;
  ~HiddenProducers() {
    for (auto& [operand, stand_in] : hidden_) graph_.replace_all_uses(stand_in, operand);
    while (graph_.inputs().size() > first_) graph_.erase_input(graph_.inputs().size() - 1);
  }

 private:
  void replace(Node* node, Value* from, Value* to) {
    for (int i = 0; i < static_cast<int>(node->arguments().size()); ++i) {
      Argument argument = node->argument(i);
      argument.replace_value(from, to);
      graph_.set_argument(node, i, std::move(argument));
    }
  }

  Graph& graph_;
  std::size_t first_;
  std::vector<std::pair<Value*, Value*>> hidden_;
};

// Nodes that stand between `after` (the graph's start when null) and `before`.
void erase_between(Graph& graph, Node* after, Node* before) {
  while (before->previous() != after) graph.erase(before->previous());
}

void add_left(Report& report, const Node& node, const std::string& reason) {
  for (LeftOp& left : report.left_to_torch) {
    if (left.op != node.op().name || left.reason != reason) continue;
    ++left.count;
    return;
  }
  report.left_to_torch.push_back(
      {node.op().name, 1, reason, node.origin().module_path, node.origin().source});
}

// Python's arithmetic on sizes, which is no op.
bool is_size_arithmetic(const std::string& name) {
  return name.starts_with("_operator.") || name.starts_with("torch.sym_") ||
         name.starts_with("math.");
}

// A decomposition that leaves a node as it is says why in a note.
std::string reason_of(const Node& node, const NodeNotes& notes) {
  const std::string said = notes.last_of(node);
  return said.empty() ? "it cannot be opened" : said;
}

}  // namespace

std::vector<std::string> ops_to_open(const OpenRequest& request) {
  std::vector<std::string> all;
  std::string list;
  for (const DecompositionRow& row : decompositions()) {
    if (request.to == OpenTo::kSdpa && row.op == kSdpa) continue;
    all.emplace_back(row.op);
    list += (list.empty() ? "" : ", ") + all.back();
  }
  if (request.only.empty()) return all;
  std::vector<std::string> chosen;
  for (const std::string& name : request.only) {
    const std::string full = full_name(name);
    if (request.to == OpenTo::kSdpa && full == kSdpa) {
      throw Error(ErrorKind::kInvalidArgument, full + " is what attention is opened to here", "",
                  "to core opens it, too");
    }
    if (std::find(all.begin(), all.end(), full) == all.end()) {
      throw Error(ErrorKind::kInvalidArgument, "'" + name + "' is no op that can be opened", "",
                  "choose of " + list);
    }
    chosen.push_back(full);
  }
  return chosen;
}

namespace {

void open_chosen(Graph& graph, const std::vector<std::string>& chosen, bool sdpa_semantics,
                 bool functional, Report& report) {
  // After functionalization nothing mutates, whatever an op might do that is not known.
  const bool hides = !functional && may_mutate(graph);
  const CompileOptions options;
  NodeNotes notes;
  for (Node* node : graph.nodes()) {
    if (std::find(chosen.begin(), chosen.end(), node->op().name) == chosen.end()) continue;
    Node* previous = node->previous();
    std::optional<HiddenProducers> hidden;
    if (hides) hidden.emplace(graph, node);
    try {
      if (!open_node(graph, node, options, report, notes, sdpa_semantics)) {
        add_left(report, *node, reason_of(*node, notes));
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInternal) throw;
      erase_between(graph, previous, node);
      add_left(report, *node, error.message());
    }
  }
  notes.add_to(report);
}

bool is_decomposable(const Node& node) {
  return std::any_of(decompositions().begin(), decompositions().end(),
                     [&](const DecompositionRow& row) { return node.is(row.op); });
}

// Fused ops that were not tried; with `core`, everything that is not core ATen as well.
void report_left(const Graph& graph, const OpenRequest& request,
                 const std::vector<std::string>& chosen, Report& report) {
  const bool core = request.to == OpenTo::kCore;
  for (const Node* node : graph.nodes()) {
    const std::string& name = node->op().name;
    // Those of the chosen that are left have been reported.
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) continue;
    if (node->op().traits.fused) {
      if (!core && name == kSdpa) continue;
      add_left(report, *node,
               is_decomposable(*node) ? "it was not asked for" : "it cannot be opened");
    } else if (core && !ops::is_core_aten(name) && name.find('.') != std::string::npos &&
               !is_size_arithmetic(name)) {
      add_left(report, *node, "no form of it in core ATen is known here");
    }
  }
}

}  // namespace

void open_fused(Graph& graph, const OpenRequest& request, Report& report) {
  const std::vector<std::string> chosen = ops_to_open(request);
  const bool core = request.to == OpenTo::kCore;
  if (!core) {
    open_chosen(graph, chosen, request.sdpa_semantics, core, report);
    write_back_attention(graph);
  } else {
    functionalize(graph);
    normalize(graph);
    open_chosen(graph, chosen, request.sdpa_semantics, core, report);
    spell_out_attention(graph);
    normalize(graph);
    to_core(graph);
  }
  report_left(graph, request, chosen, report);
}

}  // namespace unfuse::passes
