// Puts a model together: nodes over numbered tensors, which get their names at the end.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/model.h"

namespace unfuse::onnx {

/// A tensor of the model under construction.
struct Operand {
  int id = -1;  ///< -1: an optional operand that is left out
  DType dtype = DType::kFloat32;
};

class ModelBuilder {
 public:
  explicit ModelBuilder(int opset) { model_.opset = opset; }

  int opset() const { return model_.opset; }

  /// Keeps a name from being given to anything but an output, or a tensor that asks for it here.
  void reserve(const std::string& name) { names_.insert(name); }
  /// The name, with a number behind it where another tensor has it.
  std::string unique(const std::string& wanted);

  Operand add_input(const std::string& name, DType dtype, std::vector<Dim> sizes);
  Operand add_initializer(const std::string& name, Tensor data);
  /// Gives an input a value that callers may leave it at.
  void set_default(Operand input, Tensor data);
  /// A small tensor of our own; equal ones are one.
  Operand constant(const Tensor& data);
  std::vector<Operand> add_node(const std::string& op, const std::vector<Operand>& inputs,
                                const std::vector<DType>& results,
                                std::vector<Attribute> attributes);
  /// `name` was reserved. What is an input, a weight or another output already is copied.
  void add_output(Operand operand, const std::string& name, DType dtype, std::vector<Dim> sizes);
  void add_metadata(const std::string& key, const std::string& value);

  /// What nodes are named after from now on, and where they come from.
  void set_scope(const std::string& name, const Origin& origin);
  /// Wants a name for a tensor that has none yet, and tells its type.
  void describe(Operand operand, const std::string& name, const TensorType& type);

  /// Names what has no name. The builder is spent afterwards.
  Model finish(const std::string& name);

 private:
  struct Node {
    std::string op;
    std::vector<int> inputs;
    std::vector<int> outputs;
    std::vector<Attribute> attributes;
    std::string scope;
    Origin origin;
  };
  struct Description {
    std::string name;
    TensorType type;
  };

  int new_tensor(const std::string& name = "");

  Model model_;
  std::vector<Node> nodes_;
  std::vector<std::string> tensors_;  ///< names, by id; empty for now
  std::unordered_set<std::string> names_;
  std::unordered_map<int, Description> descriptions_;
  std::map<std::string, Operand> constants_;
  std::string scope_;
  Origin origin_;
};

}  // namespace unfuse::onnx
