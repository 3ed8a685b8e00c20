#include "ir/verify.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "unfuse/error.h"

namespace unfuse {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, const std::string& after_pass)
      : graph_(graph), after_pass_(after_pass) {}

  void run() {
    check_inputs();
    for (const Node* node : graph_.nodes()) check_node(*node);
    check_outputs();
    check_use_lists();
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& where) const {
    const std::string after = after_pass_.empty() ? "" : " after the pass " + after_pass_;
    throw Error(ErrorKind::kInternal, "the graph is invalid" + after + ": " + message, where);
  }

  void define(const Value* value, const std::string& where) {
    if (!defined_.insert(value).second) fail("%" + value->name() + " is defined twice", where);
    if (!names_.insert(value->name()).second) {
      fail("the name %" + value->name() + " is given twice", where);
    }
    if (const auto* tensor = std::get_if<TensorType>(&value->type())) {
      if (tensor->sizes.size() != tensor->strides.size()) {
        fail("%" + value->name() + " has " + std::to_string(tensor->sizes.size()) + " sizes and " +
                 std::to_string(tensor->strides.size()) + " strides",
             where);
      }
    }
  }

  void check_inputs() {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const GraphInput& input = graph_.inputs()[i];
      if (input.kind == InputKind::kLiteral) continue;
      if (input.value == nullptr) fail("an input has no value", input.target);
      if (input.value->producer() != nullptr || input.value->index() != static_cast<int>(i)) {
        fail("the input %" + input.value->name() + " does not know its place", input.target);
      }
      define(input.value, "input " + std::to_string(i));
    }
  }

  void check_argument(const Node& node, std::size_t index) const {
    std::vector<Value*> values;
    node.arguments()[index].collect_values(values);
    for (const Value* value : values) {
      if (!defined_.contains(value)) {
        fail("an argument is used before it is defined, or is no value of this graph",
             node.where());
      }
      if (value->is_none()) fail("%" + value->name() + " is None but used", node.where());
      const Use use{const_cast<Node*>(&node), static_cast<int>(index)};
      if (std::find(value->uses().begin(), value->uses().end(), use) == value->uses().end()) {
        fail("%" + value->name() + " does not list its use", node.where());
      }
    }
  }

  void check_node(const Node& node) {
    const Schema& schema = node.op().schema;
    if (node.arguments().size() != schema.arguments.size()) {
      fail("it has " + std::to_string(node.arguments().size()) +
               " arguments where its schema has " + std::to_string(schema.arguments.size()),
           node.where());
    }
    for (std::size_t i = 0; i < node.arguments().size(); ++i) {
      check_argument(node, i);
      const std::optional<Argument> conformed =
          conform_argument(schema.arguments[i], node.arguments()[i],
                           node.op().traits.pointwise || node.op().opaque());
      if (conformed != node.arguments()[i]) {
        fail("the argument " + schema.arguments[i].name + " cannot be " +
                 node.arguments()[i].to_string(),
             node.where());
      }
    }
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      const Value* result = node.results()[i];
      if (result->producer() != &node || result->index() != static_cast<int>(i)) {
        fail("%" + result->name() + " does not know its producer", node.where());
      }
      define(result, node.where());
    }
    nodes_.insert(&node);
  }

  void check_outputs() {
    for (const GraphOutput& output : graph_.outputs()) {
      if (!output.value.is_value()) continue;
      const Value* value = output.value.value();
      if (!defined_.contains(value)) fail("an output is no value of this graph", output.target);
      ++output_uses_[value];
    }
  }

  void check_use_lists() const {
    for (const Value* value : defined_) {
      for (const Use& use : value->uses()) {
        if (!nodes_.contains(use.node)) {
          fail("%" + value->name() + " lists a use by a node that is gone", "");
        }
        std::vector<Value*> values;
        use.node->argument(use.argument).collect_values(values);
        if (std::find(values.begin(), values.end(), value) == values.end()) {
          fail("%" + value->name() + " lists a use that is none", use.node->where());
        }
      }
      const auto found = output_uses_.find(value);
      const std::size_t expected = found == output_uses_.end() ? 0 : found->second;
      if (value->use_count() - value->uses().size() != expected) {
        fail("%" + value->name() + " miscounts its uses as output", "");
      }
    }
  }

  const Graph& graph_;
  const std::string& after_pass_;
  std::unordered_set<const Value*> defined_;
  std::unordered_set<std::string> names_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_map<const Value*, std::size_t> output_uses_;
};

}  // namespace

void verify(const Graph& graph, const std::string& after_pass) {
  Verifier(graph, after_pass).run();
}

void verify_where_wanted(const Graph& graph, const char* after_pass) {
#ifdef NDEBUG
  static const bool wanted = std::getenv("UNFUSE_VERIFY") != nullptr;
  if (!wanted) return;
#endif
  verify(graph, after_pass);
}

}  // namespace unfuse
