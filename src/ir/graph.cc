#include "ir/graph.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "unfuse/error.h"

namespace unfuse {

const char* input_kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::kUser:
      return "user";
    case InputKind::kParameter:
      return "parameter";
    case InputKind::kBuffer:
      return "buffer";
    case InputKind::kConstant:
      return "constant";
    case InputKind::kLiteral:
      return "literal";
  }
  return "unknown";
}

const TensorType& Value::tensor() const {
  if (const auto* tensor = std::get_if<TensorType>(&type_)) return *tensor;
  throw Error(ErrorKind::kInternal,
              "%" + name_ + " is " + to_string(type_) + " where a tensor is wanted");
}

const Dim& Value::size(std::int64_t dimension) const {
  const std::vector<Dim>& all = sizes();
  const auto count = static_cast<std::int64_t>(all.size());
  const std::int64_t index = dimension < 0 ? dimension + count : dimension;
  if (index < 0 || index >= count) {
    throw Error(ErrorKind::kInternal, "%" + name_ + " has no dimension " +
                                          std::to_string(dimension) + ": it is " +
                                          to_string(type_));
  }
  return all[static_cast<std::size_t>(index)];
}

bool Value::produced_by(std::string_view op_name) const {
  return producer_ != nullptr && producer_->is(op_name);
}

const Argument& Node::argument(std::string_view name) const {
  const int index = op_->schema.index_of(name);
  if (index < 0) {
    throw Error(ErrorKind::kInternal, op_->name + " has no argument " + std::string(name));
  }
  return argument(index);
}

std::vector<Value*> Node::operands() const {
  std::vector<Value*> all;
  for (const Argument& argument : arguments_) argument.collect_values(all);
  std::vector<Value*> distinct;
  std::unordered_set<const Value*> seen;
  for (Value* value : all) {
    if (seen.insert(value).second) distinct.push_back(value);
  }
  return distinct;
}

std::string Node::where() const {
  std::string text = op_->name;
  if (!results_.empty()) text = "%" + results_.front()->name() + " = " + text;
  if (!origin_.module_path.empty()) text += " at " + origin_.module_path;
  if (!origin_.source.empty()) text += " (" + origin_.source + ")";
  return text;
}

struct Graph::Storage {
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  std::list<std::unique_ptr<Node>> nodes;
  // Values of erased nodes go at once; the map owns those that are alive.
  std::unordered_map<const Value*, std::unique_ptr<Value>> values;
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, int> next_suffix;
  std::deque<Op> opaque_ops;

  std::string unique_name(const std::string& wanted) {
    std::string base = wanted.empty() ? "value" : wanted;
    if (names.insert(base).second) return base;
    int& suffix = next_suffix[base];
    for (;;) {
      std::string candidate = base + "_" + std::to_string(++suffix);
      if (names.insert(candidate).second) return candidate;
    }
  }

  Value* add_value(std::unique_ptr<Value> value) {
    Value* raw = value.get();
    values.emplace(raw, std::move(value));
    return raw;
  }
};

Graph::Graph() : storage_(std::make_unique<Storage>()) {}
Graph::~Graph() = default;

// Nodes point back at their graph, so a move has to tell them.
Graph::Graph(Graph&& other) noexcept
    : symbols(std::move(other.symbols)), storage_(std::move(other.storage_)) {
  if (storage_) {
    for (auto& node : storage_->nodes) node->graph_ = this;
  }
}

Graph& Graph::operator=(Graph&& other) noexcept {
  symbols = std::move(other.symbols);
  storage_ = std::move(other.storage_);
  if (storage_) {
    for (auto& node : storage_->nodes) node->graph_ = this;
  }
  return *this;
}

const std::vector<GraphInput>& Graph::inputs() const { return storage_->inputs; }
const std::vector<GraphOutput>& Graph::outputs() const { return storage_->outputs; }

Value* Graph::add_input(const std::string& name, Type type, GraphInput input) {
  auto value = std::make_unique<Value>();
  value->name_ = storage_->unique_name(name);
  value->type_ = std::move(type);
  value->index_ = static_cast<int>(storage_->inputs.size());
  input.value = storage_->add_value(std::move(value));
  storage_->inputs.push_back(std::move(input));
  return storage_->inputs.back().value;
}

void Graph::add_literal_input(const std::string& name, Argument literal) {
  GraphInput input;
  input.kind = InputKind::kLiteral;
  input.target = name;
  input.literal = std::move(literal);
  storage_->inputs.push_back(std::move(input));
}

void Graph::erase_input(std::size_t index) {
  auto& inputs = storage_->inputs;
  Value* value = inputs.at(index).value;
  if (value != nullptr && value->use_count() > 0) {
    throw Error(ErrorKind::kInternal, "the input %" + value->name() + " is erased but still used");
  }
  if (value != nullptr) {
    storage_->names.erase(value->name_);
    storage_->values.erase(value);
  }
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(index));
  for (std::size_t i = index; i < inputs.size(); ++i) {
    if (inputs[i].value != nullptr) inputs[i].value->index_ = static_cast<int>(i);
  }
}

void Graph::add_output(GraphOutput output) {
  if (output.value.is_value()) output.value.value()->output_uses_++;
  storage_->outputs.push_back(std::move(output));
}

void Graph::set_output(std::size_t index, Argument value) {
  GraphOutput& output = storage_->outputs.at(index);
  if (value.is_value()) value.value()->output_uses_++;
  if (output.value.is_value()) output.value.value()->output_uses_--;
  output.value = std::move(value);
}

void Graph::erase_output(std::size_t index) {
  set_output(index, Argument());
  storage_->outputs.erase(storage_->outputs.begin() + static_cast<std::ptrdiff_t>(index));
}

const GraphInput* Graph::input_of(const Value* value) const {
  if (value == nullptr || value->producer() != nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(value->index());
  if (index >= storage_->inputs.size() || storage_->inputs[index].value != value) return nullptr;
  return &storage_->inputs[index];
}

void Graph::set_input_kind(std::size_t index, InputKind kind) {
  storage_->inputs.at(index).kind = kind;
}

void Graph::set_input_data(std::size_t index, Tensor data) {
  storage_->inputs.at(index).data = std::move(data);
}

Graph::NodeRange Graph::nodes() const {
  auto& nodes = storage_->nodes;
  return NodeRange(NodeIterator(nodes.begin(), nodes.end()),
                   NodeIterator(nodes.end(), nodes.end()));
}

std::size_t Graph::node_count() const { return storage_->nodes.size(); }

Node* Graph::first_node() const {
  return storage_->nodes.empty() ? nullptr : storage_->nodes.front().get();
}

Node* Graph::last_node() const {
  return storage_->nodes.empty() ? nullptr : storage_->nodes.back().get();
}

Node* Node::next() const {
  auto following = std::next(position_);
  return following == graph_->storage_->nodes.end() ? nullptr : following->get();
}

Node* Node::previous() const {
  return position_ == graph_->storage_->nodes.begin() ? nullptr : std::prev(position_)->get();
}

namespace {

// "linear" of "aten.linear.default"; the overload says nothing to a reader.
std::string result_name_hint(const std::string& op_name) {
  const auto first = op_name.find('.');
  if (first == std::string::npos) return op_name;
  const auto second = op_name.find('.', first + 1);
  return op_name.substr(first + 1, second == std::string::npos ? second : second - first - 1);
}

}  // namespace

Node* Graph::create_node(const Op& op, Arguments arguments, std::vector<Type> result_types,
                         Node* before, const std::string& name_hint) {
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->op_ = &op;
  node->graph_ = this;
  node->arguments_ = std::move(arguments);
  const std::string hint = name_hint.empty() ? result_name_hint(op.name) : name_hint;
  for (std::size_t i = 0; i < result_types.size(); ++i) {
    auto value = std::make_unique<Value>();
    value->name_ = storage_->unique_name(hint);
    value->type_ = std::move(result_types[i]);
    value->producer_ = node;
    value->index_ = static_cast<int>(i);
    node->results_.push_back(storage_->add_value(std::move(value)));
  }
  auto& nodes = storage_->nodes;
  node->position_ =
      nodes.insert(before == nullptr ? nodes.end() : before->position_, std::move(owned));
  for (std::size_t i = 0; i < node->arguments_.size(); ++i) add_uses(node, static_cast<int>(i));
  return node;
}

const Op& Graph::opaque_op(const std::string& name, const Schema& schema) {
  // Schemas differ from call to call, since they are made from what was recorded; no sharing.
  Op op;
  op.name = name;
  op.schema = schema;
  storage_->opaque_ops.push_back(std::move(op));
  return storage_->opaque_ops.back();
}

void Graph::add_uses(Node* node, int index) {
  std::vector<Value*> values;
  node->argument(index).collect_values(values);
  for (Value* value : values) {
    const Use use{node, index};
    auto& uses = value->uses_;
    if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
  }
}

void Graph::remove_uses(Node* node, int index) {
  std::vector<Value*> values;
  node->argument(index).collect_values(values);
  for (Value* value : values) std::erase(value->uses_, Use{node, index});
}

void Graph::set_argument(Node* node, int index, Argument argument) {
  remove_uses(node, index);
  node->arguments_.at(static_cast<std::size_t>(index)) = std::move(argument);
  add_uses(node, index);
}

void Graph::replace_all_uses(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Use> uses = from->uses_;
  for (const Use& use : uses) {
    Argument argument = use.node->argument(use.argument);
    argument.replace_value(from, to);
    set_argument(use.node, use.argument, std::move(argument));
  }
  for (std::size_t i = 0; i < storage_->outputs.size(); ++i) {
    const Argument& held = storage_->outputs[i].value;
    if (held.is_value() && held.value() == from) set_output(i, to);
  }
}

void Graph::erase(Node* node) {
  for (const Value* result : node->results_) {
    if (result->use_count() > 0) {
      throw Error(ErrorKind::kInternal, "a node is erased whose result is still used",
                  node->where());
    }
  }
  for (std::size_t i = 0; i < node->arguments_.size(); ++i) remove_uses(node, static_cast<int>(i));
  for (const Value* result : node->results_) {
    storage_->names.erase(result->name_);
    storage_->values.erase(result);
  }
  storage_->nodes.erase(node->position_);
}

void Graph::move_before(Node* node, Node* before) {
  auto& nodes = storage_->nodes;
  nodes.splice(before == nullptr ? nodes.end() : before->position_, nodes, node->position_);
}

void Graph::rename(Value* value, const std::string& name) {
  if (value->name_ == name) return;
  storage_->names.erase(value->name_);
  value->name_ = storage_->unique_name(name);
}

}  // namespace unfuse
