// Functionalization. Each tensor is a base and a chain of views of it. A mutation computes what its
// pure op gives for the view it writes to, and writes that back through the chain, step by step,
// into a new base (a reshape back, a permute back, slice_scatter, ...). Whoever uses an alias of
// that base later gets its chain replayed on the new base. The nodes are walked once, in order; a
// chain is replayed only when a stale alias is used. Bases that are inputs become outputs of the
// graph when they were written.
//
// A base is never copied here: the graph has values, not memory, and the old base lives on as the
// value that earlier uses read.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/functionalize/aliasing.h"
#include "passes/functionalize/pure_op.h"
#include "passes/passes.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

constexpr const char* kHint =
    "write to a clone of the tensor instead (x = x.clone()), or use use_aot=True, where torch "
    "makes "
    "the graph functional";

constexpr const char* kCloneHint = "write to a clone of the tensor instead (x = x.clone())";

struct Storage {
  Value* base = nullptr;  ///< what the storage holds at this point of the walk
  int version = 0;        ///< how many writes it has seen
};

struct Alias {
  int storage = 0;
  std::vector<ViewStep> chain;
  bool certain = true;    ///< false where recorded strides leave open whether it shares storage
  Value* held = nullptr;  ///< the value that stands for the alias ...
  int version = 0;        ///< ... as of this version of its storage
};

class Functionalizer {
 public:
  explicit Functionalizer(Graph& graph) : graph_(graph) {}

  void run() {
    for (Node* node : graph_.nodes()) visit(node);
    refresh_outputs();
    add_mutation_outputs();
    for (auto node = mutations_.rbegin(); node != mutations_.rend(); ++node) graph_.erase(*node);
  }

 private:
  void visit(Node* node) {
    const int mutated = mutated_argument(*node);
    if (mutated < 0) {
      note_views(*node);
      refresh_operands(node);
      return;
    }
    // Looked up before it is refreshed: aliases are known by the values that the graph came with.
    Value* self = node->input(mutated);
    refresh_operands(node);
    if (mutated != 0 || !change_metadata(node, self)) write(node, mutated, self);
    mutations_.push_back(node);
  }

  void refresh_operands(Node* node) {
    for (std::size_t i = 0; i < node->arguments().size(); ++i) {
      std::vector<Value*> values;
      node->arguments()[i].collect_values(values);
      Argument argument = node->arguments()[i];
      bool changed = false;
      for (Value* value : values) {
        Value* now = current(value, node);
        if (now == value) continue;
        argument.replace_value(value, now);
        changed = true;
      }
      if (changed) graph_.set_argument(node, static_cast<int>(i), std::move(argument));
    }
  }

  // The value that stands for `value` at this point of the walk.
  Value* current(Value* value, Node* before) {
    const auto found = aliases_.find(value);
    if (found == aliases_.end()) return value;
    Alias& alias = found->second;
    const Storage& storage = storage_of(alias);
    if (alias.version == storage.version) return alias.held;
    if (!alias.certain) {
      throw Error(ErrorKind::kUnsupported,
                  "%" + value->name() +
                      " may or may not share memory with a tensor that is written to, depending on "
                      "sizes that are not fixed",
                  before == nullptr ? "" : before->where(), kHint);
    }
    Builder builder(graph_, before);
    Value* now = storage.base;
    for (const ViewStep& step : alias.chain) now = step.apply(builder, now);
    if (now != storage.base) keep_layout(now, value);
    alias.held = now;
    alias.version = storage.version;
    return now;
  }

  // A replayed view is laid out as the alias was.
  static void keep_layout(Value* now, const Value* before) {
    if (now->is_tensor() && before->is_tensor() &&
        same_type(now->tensor(), before->tensor(), /*compare_strides=*/false)) {
      now->set_type(before->type());
    }
  }

  Alias& alias_of(Value* value) {
    const auto found = aliases_.find(value);
    if (found != aliases_.end()) return found->second;
    Alias alias;
    alias.storage = static_cast<int>(storages_.size());
    alias.held = value;
    storages_.push_back({value, 0});
    return aliases_.emplace(value, std::move(alias)).first->second;
  }

  const Storage& storage_of(const Alias& alias) const {
    return storages_[static_cast<std::size_t>(alias.storage)];
  }

  // By the recorded types of the operands that the graph came with.
  void note_views(const Node& node) {
    for (int i = 0; i < static_cast<int>(node.results().size()); ++i) {
      Aliasing aliasing = aliasing_of(node, i, graph_.symbols);
      if (aliasing.shares == Answer::kNo) continue;
      Alias alias = alias_of(node.operands().front());
      // A window on the storage may show more than its operand does: it is made from the base.
      const bool stale =
          aliasing.step.kind == ViewStep::Kind::kOther && storage_of(alias).version > 0;
      alias.chain.push_back(std::move(aliasing.step));
      alias.certain = alias.certain && aliasing.shares == Answer::kYes;
      alias.held = node.result(i);
      alias.version = stale ? -1 : storage_of(alias).version;
      aliases_[node.result(i)] = std::move(alias);
    }
  }

  // x.unsqueeze_(0), x.t_(), x.detach_(): no element is written, but x itself is another view from
  // here.
  bool change_metadata(Node* node, Value* self) {
    const auto step = view_step(*node, 0, graph_.symbols);
    if (!step) return false;
    Builder builder(graph_, node);
    Alias alias = alias_of(self);
    alias.chain.push_back(*step);
    alias.held = step->apply(builder, node->input(0));
    aliases_[self] = alias;
    aliases_[node->result()] = std::move(alias);
    return true;
  }

  void write(Node* node, int mutated, Value* self) {
    Alias& alias = alias_of(self);
    check_writable(*node, alias, mutated);
    Builder builder(graph_, node);
    Value* written = pure_result(builder, *node, mutated);
    keep_layout_of_new(written, self);
    Storage& storage = storages_[static_cast<std::size_t>(alias.storage)];
    storage.base = write_through(builder, storage.base, alias.chain, written);
    ++storage.version;
    alias.held = written;
    alias.version = storage.version;
    for (Value* result : node->results()) aliases_[result] = Alias(alias);
  }

  void check_writable(const Node& node, const Alias& alias, int mutated) const {
    if (!alias.certain) {
      throw Error(
          ErrorKind::kUnsupported,
          "this op writes to a tensor that may or may not be a view, depending on sizes that "
          "are not fixed",
          node.where(), kHint);
    }
    for (auto step = alias.chain.begin(); step != alias.chain.end(); ++step) {
      const bool fills_all = step->kind == ViewStep::Kind::kExpand && fills(node) &&
                             std::all_of(step, alias.chain.end(), [](const ViewStep& next) {
                               return next.keeps_all_elements();
                             });
      if (step->writable() || fills_all) continue;
      // Torch makes such a write functional by adding up what changed: right for one write a place.
      const bool once = !overlaps(node.input(mutated)->tensor());
      throw Error(ErrorKind::kUnsupported,
                  "this op writes through " + step->name() +
                      ", where several elements may share one place in memory",
                  node.where(), once ? kHint : kCloneHint);
    }
  }

  static bool fills(const Node& node) {
    return node.is("aten.fill_.Scalar") || node.is("aten.fill_.Tensor") ||
           node.is("aten.zero_.default");
  }

  static Value* write_through(Builder& builder, Value* base, const std::vector<ViewStep>& chain,
                              Value* written) {
    std::vector<Value*> levels{base};
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      levels.push_back(chain[i].apply(builder, levels.back()));
    }
    for (std::size_t i = chain.size(); i-- > 0;) {
      written = chain[i].write(builder, levels[i], written);
    }
    keep_layout_of_new(written, base);
    return written;
  }

  // A write leaves strides as they are. Only values that this pass has just built are touched.
  static void keep_layout_of_new(Value* built, const Value* before) {
    if (built->use_count() == 0 && built->producer() != nullptr) keep_layout(built, before);
  }

  void refresh_outputs() {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Argument& held = graph_.outputs()[i].value;
      if (held.is_value()) graph_.set_output(i, current(held.value(), nullptr));
    }
  }

  void add_mutation_outputs() {
    for (const GraphInput& input : graph_.inputs()) {
      const auto found = aliases_.find(input.value);
      if (input.value == nullptr || found == aliases_.end()) continue;
      const Storage& storage = storage_of(found->second);
      if (storage.version == 0) continue;
      graph_.add_output({storage.base, output_kind(input.kind), input.target});
    }
  }

  static OutputKind output_kind(InputKind kind) {
    if (kind == InputKind::kUser) return OutputKind::kUserInputMutation;
    return kind == InputKind::kParameter ? OutputKind::kParameterMutation
                                         : OutputKind::kBufferMutation;
  }

  Graph& graph_;
  std::vector<Storage> storages_;
  std::unordered_map<Value*, Alias> aliases_;
  std::vector<Node*> mutations_;
};

bool mutates(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (node->op().schema.mutates()) return true;
  }
  return false;
}

// An archive does not hold the schema of an op that we lack, but PyTorch's names end in an
// underscore where an op writes.
void refuse_unknown_mutations(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    const std::string& name = node->op().name;
    const auto overload = name.rfind('.');
    const bool in_place = name.starts_with("aten.") && overload != std::string::npos &&
                          name[overload - 1] == '_' && name[overload - 2] != '_';
    if (!node->op().opaque() || !in_place || node->op().schema.mutates()) continue;
    throw Error(ErrorKind::kUnsupported, "there is no known pure form of this in-place op",
                node->where(), kHint);
  }
}

// Batch norm in training writes to its running statistics, which its schema does not say.
void refuse_hidden_mutations(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    const bool hidden = node->is("aten.batch_norm.default") ||
                        node->is("aten.native_batch_norm.default") ||
                        node->is("aten.cudnn_batch_norm.default");
    if (!hidden || !node->argument("training").boolean()) continue;
    if (node->argument("running_mean").is_none()) continue;
    throw Error(ErrorKind::kUnsupported,
                "batch norm in training mode updates its running statistics", node->where(),
                "call model.eval(), or use use_aot=True");
  }
}

void check_pure(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (!node->op().schema.mutates()) continue;
    throw Error(ErrorKind::kInternal, "functionalize left a node that mutates", node->where());
  }
}

/// What is written through a view that one node makes of its second operand, say, is found only
/// where that view is a node of its own.
void split_views_of_several(Graph& graph) {
  for (Node* node : graph.nodes()) {
    Builder builder(graph, node);
    const std::vector<Value*> views = views_of_several(builder, *node);
    if (views.empty()) continue;
    for (std::size_t i = 0; i < views.size(); ++i) {
      graph.replace_all_uses(node->results()[i], views[i]);
    }
    graph.erase(node);
  }
}

}  // namespace

void functionalize(Graph& graph) {
  refuse_unknown_mutations(graph);
  refuse_hidden_mutations(graph);
  if (!mutates(graph)) return;
  split_views_of_several(graph);
  Functionalizer(graph).run();
  check_pure(graph);
}

}  // namespace unfuse::passes
