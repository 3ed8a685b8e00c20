// Constant folding. One walk finds what is known: constants of the graph, creations, and what exact
// arithmetic makes of them. Then a uniform result becomes a full, another small one a constant of
// the graph, but only where something that is not known reads it. At last a tensor operand that
// holds one number everywhere becomes that number, where the op has an overload for it and the
// result keeps its dtype: 0-d tensors take part in type promotion in their own way.
#include <string>
#include <unordered_map>

#include "passes/fold/evaluate.h"
#include "passes/normalize/rewrites.h"
#include "passes/passes.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

bool is_updated(const Graph& graph, const GraphInput& input) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::kUser && output.target == input.target) return true;
  }
  return false;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  void run() {
    find_constants();
    for (Node* node : graph_.nodes()) put_in_place(node);
    for (Node* node : graph_.nodes()) use_numbers(node);
  }

 private:
  const Constant* known(const Value* value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? nullptr : &found->second;
  }

  void find_constants() {
    for (const GraphInput& input : graph_.inputs()) {
      if (input.kind != InputKind::kConstant || is_updated(graph_, input)) continue;
      if (auto constant = constant_of(input.data)) known_[input.value] = std::move(*constant);
    }
    const ConstantOf lookup = [this](const Value* value) { return known(value); };
    for (const Node* node : graph_.nodes()) {
      if (auto constant = evaluate(*node, lookup)) known_[node->result()] = std::move(*constant);
    }
  }

  // Some reader is not known itself.
  bool is_read(const Value* value) const {
    if (value->is_output()) return true;
    for (const Use& use : value->uses()) {
      const auto& results = use.node->results();
      if (results.size() != 1 || known(results.front()) == nullptr) return true;
    }
    return false;
  }

  void put_in_place(Node* node) {
    const bool is_made = node->is("aten.full.default") || node->is("aten.arange.start_step");
    if (is_made || node->results().size() != 1) return;
    Value* value = node->result();
    const Constant* constant = known(value);
    if (constant == nullptr || !is_read(value)) return;
    Value* made = constant->uniform ? as_full(*constant, node) : as_input(*constant, *value);
    known_.emplace(made, Constant(*constant));
    replace_by_equal(graph_, value, made, node);
  }

  Value* as_full(const Constant& constant, Node* before) {
    Builder builder(graph_, before);
    return full(builder, constant.sizes, constant.scalar(), constant.dtype);
  }

  Value* as_input(const Constant& constant, const Value& value) {
    GraphInput input;
    input.kind = InputKind::kConstant;
    input.data = tensor_of(constant);
    input.target = "folded." + value.name();
    return graph_.add_input(value.name(), TensorType::contiguous(constant.dtype, constant.sizes),
                            std::move(input));
  }

  void use_numbers(Node* node) {
    static const RewriteTable table(number_rewrites());
    if (table.find(node->op().name).empty() || node->op().result_types == nullptr) return;
    for (std::size_t i = 0; i < node->arguments().size(); ++i) {
      const Argument& argument = node->arguments()[i];
      const Constant* constant = argument.is_value() ? known(argument.value()) : nullptr;
      if (constant == nullptr || !constant->uniform) continue;
      if (!takes_number(*node, i, constant->scalar())) continue;
      graph_.set_argument(node, static_cast<int>(i), constant->scalar());
    }
  }

  // At least one tensor must be left, and the result must not change its type.
  static bool takes_number(const Node& node, std::size_t index, const Argument& number) {
    const bool is_condition = node.op().schema.arguments[index].name == "condition" ||
                              node.op().schema.arguments[index].name == "mask";
    if (is_condition) return false;
    Arguments arguments = node.arguments();
    arguments[index] = number;
    try {
      conform_arguments(node.op(), arguments);
      const std::vector<Type> types = node.op().result_types(arguments);
      const auto* type = std::get_if<TensorType>(&types.at(0));
      return type != nullptr &&
             same_type(*type, node.result()->tensor(), /*compare_strides=*/false);
    } catch (const Error&) {
      return false;
    }
  }

  Graph& graph_;
  std::unordered_map<const Value*, Constant> known_;
};

}  // namespace

void fold_constants(Graph& graph) {
  static const RewriteTable numbers(number_rewrites());
  Folder(graph).run();
  rewrite_nodes(graph, numbers);
  eliminate_dead_code(graph);
}

}  // namespace unfuse::passes
