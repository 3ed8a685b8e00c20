#include "passes/rewrite.h"

#include <algorithm>

#include "ops/catalogue.h"
#include "passes/views.h"
#include "unfuse/error.h"

namespace unfuse::passes {

Value* RewriteContext::call(std::string_view op, Arguments positional,
                            const std::vector<KeywordArgument>& keywords) {
  return builder.call(ops::get(op), std::move(positional), keywords);
}

Value* RewriteContext::try_call(const Value* like, std::string_view op, Arguments positional,
                                const std::vector<KeywordArgument>& keywords) {
  const Op& called = ops::get(op);
  if (called.result_types == nullptr) return nullptr;
  try {
    Arguments arguments = complete_arguments(called, std::move(positional), keywords);
    conform_arguments(called, arguments);
    const std::vector<Type> types = called.result_types(arguments);
    const auto* type = types.size() == 1 ? std::get_if<TensorType>(&types[0]) : nullptr;
    if (type == nullptr || !same_type(*type, like->tensor(), /*compare_strides=*/false)) {
      return nullptr;
    }
    Node* made = graph_.create_node(called, std::move(arguments), types, builder.insertion_point());
    made->set_origin(builder.origin());
    return made->result();
  } catch (const Error&) {
    return nullptr;  // the other form of the op takes what this one does not
  }
}

Replacement RewriteContext::become(const Node& node, std::string_view op, Arguments positional,
                                   const std::vector<KeywordArgument>& keywords) {
  const Op& wanted = ops::get(op);
  Arguments arguments = complete_arguments(wanted, std::move(positional), keywords);
  conform_arguments(wanted, arguments);
  if (&node.op() == &wanted && node.arguments() == arguments) return kKeep;
  Node* made = graph_.create_node(wanted, std::move(arguments), {node.result()->type()},
                                  builder.insertion_point());
  made->set_origin(builder.origin());
  return replace_by(made->result());
}

void RewriteTable::add(std::span<const RewriteRow> rows) {
  for (const RewriteRow& row : rows) rows_[row.op].push_back(row.rewrite);
}

std::span<const Rewrite> RewriteTable::find(std::string_view op) const {
  const auto found = rows_.find(op);
  if (found == rows_.end()) return {};
  return found->second;
}

namespace {

bool is_clone(const Value* value) { return value->produced_by("aten.clone.default"); }

// Nobody else hands this value out, and it is no view of an input: the caller may own it.
bool can_be_handed_out(Value* value) {
  return viewed_base(value)->producer() != nullptr && !value->is_output();
}

bool same_layout(const Value* left, const Value* right) {
  return !left->is_tensor() || !right->is_tensor() ||
         (left->tensor().strides == right->tensor().strides &&
          left->tensor().device == right->tensor().device);
}

void replace_node_uses(Graph& graph, Value* from, Value* to) {
  const std::vector<Use> uses = from->uses();
  for (const Use& use : uses) {
    if (use.node == to->producer()) continue;
    Argument argument = use.node->argument(use.argument);
    argument.replace_value(from, to);
    graph.set_argument(use.node, use.argument, std::move(argument));
  }
}

void check_same_elements(const Node& node, const Value* from, const Value* to) {
  if (!from->is_tensor() || !to->is_tensor()) return;
  bool same = from->dtype() == to->dtype() && from->rank() == to->rank();
  for (std::size_t i = 0; same && i < from->sizes().size(); ++i) {
    same = equal(from->sizes()[i], to->sizes()[i]) != Answer::kNo;
  }
  if (same) return;
  throw Error(ErrorKind::kInternal,
              "a rewrite turned " + to_string(from->type()) + " into " + to_string(to->type()),
              node.where());
}

class NodeRewriter {
 public:
  NodeRewriter(Graph& graph, const RewriteTable& table, const NodePredicate& wants)
      : graph_(graph), table_(table), wants_(wants) {}

  bool run() {
    // A table whose rewrites lead in a circle is a fault of ours; better an error than no end.
    const std::size_t most = 100 * graph_.node_count() + 1000;
    Node* node = graph_.first_node();
    while (node != nullptr) {
      node = visit(node);
      if (rewritten_ > most) {
        throw Error(ErrorKind::kInternal, "rewriting does not come to an end",
                    node == nullptr ? "" : node->where());
      }
    }
    return rewritten_ > 0;
  }

 private:
  // Returns the node to look at next: the first that was built, so that it is rewritten in turn.
  Node* visit(Node* node) {
    if (wants_ && !wants_(*node)) return node->next();
    for (const Rewrite rewrite : table_.find(node->op().name)) {
      Node* const before = node->previous();
      RewriteContext at(graph_, node);
      const Replacement replacement = rewritten(rewrite, at, *node);
      if (!replacement) continue;
      if (!apply(*node, *replacement, before)) continue;
      ++rewritten_;
      return before == nullptr ? graph_.first_node() : before->next();
    }
    return node->next();
  }

  // Errors tell the node.
  static Replacement rewritten(Rewrite rewrite, RewriteContext& at, const Node& node) {
    try {
      return rewrite(at, node);
    } catch (const Error& error) {
      if (!error.where().empty()) throw;
      throw Error(error.kind(), error.message(), node.where(), error.hint());
    }
  }

  bool apply(Node& node, const std::vector<Value*>& values, const Node* before) {
    bool changed = node.results().empty();
    std::vector<std::pair<Value*, std::string>> names;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == nullptr) continue;
      Value* result = node.result(static_cast<int>(i));
      check_same_elements(node, result, values[i]);
      const bool built = was_built(values[i], node, before);
      if (built) names.emplace_back(values[i], result->name());
      changed |= hand_over(node, result, values[i], built);
    }
    const bool unused = std::all_of(node.results().begin(), node.results().end(),
                                    [](const Value* value) { return value->use_count() == 0; });
    if (!unused) return changed;
    graph_.erase(&node);
    for (const auto& [value, name] : names) graph_.rename(value, name);
    return true;
  }

  // A value that was built for this node takes its recorded type, strides included.
  bool hand_over(Node& node, Value* from, Value* to, bool built) {
    if (!built || to->use_count() > 0) return replace_by_equal(graph_, from, to, &node);
    to->set_type(from->type());
    graph_.replace_all_uses(from, to);
    return true;
  }

  static bool was_built(const Value* value, const Node& node, const Node* before) {
    for (const Node* made = node.previous(); made != before; made = made->previous()) {
      if (made == value->producer()) return true;
    }
    return false;
  }

  Graph& graph_;
  const RewriteTable& table_;
  const NodePredicate& wants_;
  std::size_t rewritten_ = 0;
};

}  // namespace

bool replace_by_equal(Graph& graph, Value* from, Value* to, Node* before) {
  bool changed = !from->uses().empty();
  replace_node_uses(graph, from, to);
  if (!from->is_output()) return changed;
  if (can_be_handed_out(to) && same_layout(from, to)) {
    graph.replace_all_uses(from, to);
    return true;
  }
  if (is_clone(from)) {
    // It stays, and reads what stands for the value.
    Node* clone = from->producer();
    if (clone->input(0) != to) {
      graph.set_argument(clone, 0, to);
      changed = true;
    }
    return changed;
  }
  Node* clone =
      graph.create_node(ops::get("aten.clone.default"), {to, Argument()}, {from->type()}, before);
  if (before != nullptr) clone->set_origin(before->origin());
  graph.replace_all_uses(from, clone->result());
  return true;
}

bool rewrite_nodes(Graph& graph, const RewriteTable& table, const NodePredicate& wants) {
  return NodeRewriter(graph, table, wants).run();
}

}  // namespace unfuse::passes
