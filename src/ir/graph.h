// The graph: SSA nodes in program order, values with use lists, inputs and outputs.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/argument.h"
#include "ir/op.h"
#include "ir/type.h"
#include "unfuse/tensor.h"

namespace unfuse {

class Graph;
class Node;

/// Where a node comes from in the user's program.
struct Origin {
  std::string module_path;  ///< "encoder.layers.0.self_attn"
  std::string source;       ///< "model.py:41", the innermost line that is the user's own
  /// Which of the nodes that an importer saw this is, or was built in place of; -1 when unknown.
  int recorded = -1;
};

/// One use of a value: argument `argument` of `node`. A list that names a value twice is one use.
struct Use {
  Node* node = nullptr;
  int argument = 0;
  bool operator==(const Use&) const = default;
};

/// A result of a node or an input of the graph.
class Value {
 public:
  const std::string& name() const { return name_; }
  const Type& type() const { return type_; }
  void set_type(Type type) { type_ = std::move(type); }

  bool is_tensor() const { return std::holds_alternative<TensorType>(type_); }
  bool is_none() const { return std::holds_alternative<NoneType>(type_); }
  /// Throws Error (kInternal) when the value is no tensor.
  const TensorType& tensor() const;
  DType dtype() const { return tensor().dtype; }
  const std::vector<Dim>& sizes() const { return tensor().sizes; }
  /// The size of a dimension; negative ones count from the end.
  const Dim& size(std::int64_t dimension) const;
  std::int64_t rank() const { return tensor().rank(); }

  /// Null for an input of the graph.
  Node* producer() const { return producer_; }
  /// Which result of the producer, or which input of the graph.
  int index() const { return index_; }
  const std::vector<Use>& uses() const { return uses_; }
  /// Uses by nodes and by the graph's outputs together.
  std::size_t use_count() const { return uses_.size() + static_cast<std::size_t>(output_uses_); }
  bool is_output() const { return output_uses_ > 0; }
  /// Produced by a node of this op.
  bool produced_by(std::string_view op_name) const;

 private:
  friend class Graph;
  std::string name_;
  Type type_;
  Node* producer_ = nullptr;
  int index_ = 0;
  std::vector<Use> uses_;
  int output_uses_ = 0;
};

/// A call of an op, its arguments in schema order with defaults filled in.
class Node {
 public:
  const Op& op() const { return *op_; }
  OpId id() const { return op_->id; }
  bool is(std::string_view op_name) const { return op_->name == op_name; }

  const Arguments& arguments() const { return arguments_; }
  const Argument& argument(int index) const {
    return arguments_.at(static_cast<std::size_t>(index));
  }
  /// By the schema's name. Throws Error (kInternal) when the schema has no such argument.
  const Argument& argument(std::string_view name) const;
  /// Shorthand for argument(index).value().
  Value* input(int index) const { return argument(index).value(); }

  const std::vector<Value*>& results() const { return results_; }
  Value* result(int index = 0) const { return results_.at(static_cast<std::size_t>(index)); }

  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  /// Where the importer found this node, to find it again there; -1 for nodes that passes built.
  int import_index() const { return import_index_; }
  void set_import_index(int index) { import_index_ = index; }

  /// Values used, in argument order, each once.
  std::vector<Value*> operands() const;
  /// Null at either end.
  Node* next() const;
  Node* previous() const;

  /// "aten.linear.default at encoder.layers.0 (model.py:41)": for messages.
  std::string where() const;

 private:
  friend class Graph;
  const Op* op_ = nullptr;
  Arguments arguments_;
  std::vector<Value*> results_;
  Origin origin_;
  int import_index_ = -1;
  Graph* graph_ = nullptr;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

enum class InputKind {
  kUser,  ///< a tensor or a symbolic int of the call
  kParameter,
  kBuffer,
  kConstant,  ///< lifted by the exporter, or made by folding
  kLiteral,   ///< a constant that the caller passes too: None, 3, "mean"; it has no value
};

/// "user", "parameter", "buffer", "constant" or "literal": in the text form of a graph, and in
/// Python.
const char* input_kind_name(InputKind kind);

struct GraphInput {
  Value* value = nullptr;  ///< null for kLiteral
  InputKind kind = InputKind::kUser;
  std::string target;      ///< "encoder.layers.0.norm1.weight"; the argument's name for kUser
  bool persistent = true;  ///< kBuffer: in the state dict
  Tensor data;             ///< elements, when they are known already; else given at run time
  Argument literal;        ///< kLiteral
};

enum class OutputKind { kUser, kBufferMutation, kUserInputMutation, kParameterMutation };

struct GraphOutput {
  Argument value;  ///< a Value*, or a constant: None, an int, a string
  OutputKind kind = OutputKind::kUser;
  std::string target;  ///< of a mutation: the GraphInput::target that it is written to
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// --- Inputs and outputs
  const std::vector<GraphInput>& inputs() const;
  const std::vector<GraphOutput>& outputs() const;
  /// `input.value` is made here; `name` is made unique.
  Value* add_input(const std::string& name, Type type, GraphInput input);
  void add_literal_input(const std::string& name, Argument literal);
  /// Removes an input that nothing uses.
  void erase_input(std::size_t index);
  void add_output(GraphOutput output);
  void set_output(std::size_t index, Argument value);
  void erase_output(std::size_t index);
  /// The input that made this value; null when a node did.
  const GraphInput* input_of(const Value* value) const;
  void set_input_data(std::size_t index, Tensor data);
  void set_input_kind(std::size_t index, InputKind kind);

  /// --- Nodes, in program order: operands stand before their users
  /// Range for `for (Node* node : graph.nodes())`. The node at hand may be erased in the loop's
  /// body, and nodes may be inserted anywhere.
  class NodeIterator;
  class NodeRange;
  NodeRange nodes() const;
  std::size_t node_count() const;
  Node* first_node() const;
  Node* last_node() const;

  /// Inserts before `before`, or at the end when it is null. `op` outlives the graph: it comes
  /// from the catalogue or from opaque_op(). `arguments` are in schema order and complete.
  Node* create_node(const Op& op, Arguments arguments, std::vector<Type> result_types,
                    Node* before = nullptr, const std::string& name_hint = "");
  /// Gives the op of this name with the arguments that the importer saw; owned by the graph.
  const Op& opaque_op(const std::string& name, const Schema& schema);

  void set_argument(Node* node, int index, Argument argument);
  /// Uses by nodes and outputs alike.
  void replace_all_uses(Value* from, Value* to);
  /// Throws Error (kInternal) when a result is still used.
  void erase(Node* node);
  /// Moves a node before another; the caller keeps program order.
  void move_before(Node* node, Node* before);
  /// Makes `name` unique by a suffix, and gives it to the value.
  void rename(Value* value, const std::string& name);

  /// --- Symbols
  SymbolRanges symbols;

 private:
  friend class Node;
  struct Storage;
  void add_uses(Node* node, int index);
  void remove_uses(Node* node, int index);
  std::unique_ptr<Storage> storage_;
};

class Graph::NodeIterator {
 public:
  NodeIterator(std::list<std::unique_ptr<Node>>::iterator current,
               std::list<std::unique_ptr<Node>>::iterator end)
      : current_(current), next_(current), end_(end) {
    if (next_ != end_) ++next_;
  }
  Node* operator*() const { return current_->get(); }
  NodeIterator& operator++() {
    current_ = next_;
    if (next_ != end_) ++next_;
    return *this;
  }
  bool operator!=(const NodeIterator& other) const { return current_ != other.current_; }

 private:
  std::list<std::unique_ptr<Node>>::iterator current_, next_, end_;
};

class Graph::NodeRange {
 public:
  NodeRange(NodeIterator begin, NodeIterator end) : begin_(begin), end_(end) {}
  NodeIterator begin() const { return begin_; }
  NodeIterator end() const { return end_; }

 private:
  NodeIterator begin_, end_;
};

}  // namespace unfuse
