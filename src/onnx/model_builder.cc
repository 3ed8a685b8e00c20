#include "onnx/model_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace unfuse::onnx {

int ModelBuilder::new_tensor(const std::string& name) {
  tensors_.push_back(name);
  return static_cast<int>(tensors_.size()) - 1;
}

std::string ModelBuilder::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

Operand ModelBuilder::add_input(const std::string& name, DType dtype, std::vector<Dim> sizes) {
  const std::string own = unique(name);
  model_.inputs.push_back({own, dtype, std::move(sizes)});
  return {new_tensor(own), dtype};
}

Operand ModelBuilder::add_initializer(const std::string& name, Tensor data) {
  const std::string own = unique(name);
  const DType dtype = data.dtype();
  model_.initializers.push_back({own, std::move(data)});
  return {new_tensor(own), dtype};
}

void ModelBuilder::set_default(Operand input, Tensor data) {
  model_.initializers.push_back({tensors_[static_cast<std::size_t>(input.id)], std::move(data)});
}

Operand ModelBuilder::constant(const Tensor& data) {
  std::string key = fmt::format("{} [{}]:", dtype_name(data.dtype()), fmt::join(data.sizes(), ","));
  const std::size_t bytes = static_cast<std::size_t>(data.numel()) * dtype_size(data.dtype());
  key.append(data.data_as<char>(), bytes);
  const auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  return constants_[key] = add_initializer("constant", data);
}

std::vector<Operand> ModelBuilder::add_node(const std::string& op,
                                            const std::vector<Operand>& inputs,
                                            const std::vector<DType>& results,
                                            std::vector<Attribute> attributes) {
  Node node{op, {}, {}, std::move(attributes), scope_, origin_};
  for (const Operand& input : inputs) node.inputs.push_back(input.id);
  while (!node.inputs.empty() && node.inputs.back() < 0) node.inputs.pop_back();
  std::vector<Operand> operands;
  for (const DType dtype : results) {
    operands.push_back({new_tensor(), dtype});
    node.outputs.push_back(operands.back().id);
  }
  nodes_.push_back(std::move(node));
  return operands;
}

void ModelBuilder::add_output(Operand operand, const std::string& name, DType dtype,
                              std::vector<Dim> sizes) {
  const bool has_name = !tensors_[static_cast<std::size_t>(operand.id)].empty();
  if (has_name) operand = add_node("Identity", {operand}, {dtype}, {}).front();
  tensors_[static_cast<std::size_t>(operand.id)] = name;
  model_.outputs.push_back({name, dtype, std::move(sizes)});
}

void ModelBuilder::add_metadata(const std::string& key, const std::string& value) {
  model_.metadata.emplace_back(key, value);
}

void ModelBuilder::set_scope(const std::string& name, const Origin& origin) {
  scope_ = name;
  origin_ = origin;
}

void ModelBuilder::describe(Operand operand, const std::string& name, const TensorType& type) {
  descriptions_.try_emplace(operand.id, Description{name, type});
}

Model ModelBuilder::finish(const std::string& name) {
  model_.name = name;
  for (std::size_t id = 0; id < tensors_.size(); ++id) {
    const auto described = descriptions_.find(static_cast<int>(id));
    if (!tensors_[id].empty() || described == descriptions_.end()) continue;
    const auto& [wanted, type] = described->second;
    tensors_[id] = unique(wanted);
    model_.values.push_back({tensors_[id], type.dtype, type.sizes});
  }
  std::unordered_map<std::string, int> counts;
  for (const Node& node : nodes_) {
    const std::string stem = node.scope.empty() ? node.op : node.scope + "/" + node.op;
    const int count = counts[stem]++;
    const std::string own = count == 0 ? stem : fmt::format("{}_{}", stem, count);
    ModelNode made{node.op, own, {}, {}, node.attributes, node.origin};
    for (const int id : node.outputs) {
      std::string& tensor = tensors_[static_cast<std::size_t>(id)];
      if (tensor.empty()) tensor = unique(own);
      made.outputs.push_back(tensor);
    }
    for (const int id : node.inputs) {
      made.inputs.push_back(id < 0 ? "" : tensors_[static_cast<std::size_t>(id)]);
    }
    model_.nodes.push_back(std::move(made));
  }
  return std::move(model_);
}

}  // namespace unfuse::onnx
