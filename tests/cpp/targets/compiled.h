// Building, compiling and running small graphs in tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/graph.h"
#include "targets/cpu/executable.h"
#include "unfuse/tensor.h"

namespace unfuse::testing {

using Sizes = std::vector<std::int64_t>;

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

template <typename T>
Tensor tensor(const Sizes& sizes, std::initializer_list<T> elements) {
  Tensor result = Tensor::empty(DTypeOf<T>::value, sizes);
  std::copy(elements.begin(), elements.end(), result.data_as<T>());
  return result;
}

inline Tensor random_tensor(const Sizes& sizes, std::uint32_t seed = 1) {
  Tensor result = Tensor::empty(DType::kFloat32, sizes);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-2, 2);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_as<float>()[i] = distribution(generator);
  }
  return result;
}

/// Elements in row-major order, whatever the strides.
template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  std::vector<T> result;
  std::vector<std::int64_t> index(tensor.sizes().size(), 0);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t offset = 0;
    std::int64_t rest = i;
    for (std::size_t j = index.size(); j-- > 0;) {
      offset += rest % tensor.sizes()[j] * tensor.strides()[j];
      rest /= tensor.sizes()[j];
    }
    result.push_back(tensor.data_as<T>()[offset]);
  }
  return result;
}

inline Value* add_user_input(Graph& graph, const std::string& name, DType dtype,
                             std::vector<Dim> sizes) {
  GraphInput input;
  input.target = name;
  return graph.add_input(name, TensorType::contiguous(dtype, std::move(sizes)), std::move(input));
}

inline Value* add_parameter(Graph& graph, const std::string& name, Tensor data,
                            InputKind kind = InputKind::kParameter) {
  GraphInput input;
  input.kind = kind;
  input.target = name;
  std::vector<Dim> sizes(data.sizes().begin(), data.sizes().end());
  TensorType type = TensorType::contiguous(data.dtype(), sizes);
  type.strides.assign(data.strides().begin(), data.strides().end());
  input.data = std::move(data);
  return graph.add_input(name, type, std::move(input));
}

inline void add_output(Graph& graph, Value* value) {
  GraphOutput output;
  output.value = value;
  graph.add_output(std::move(output));
}

/// A compiled graph whose parameters all have data.
class Compiled {
 public:
  explicit Compiled(Graph graph, int threads = 2) {
    CompileOptions options;
    options.threads = threads;
    executable_ = cpu::Executable::compile(std::move(graph), options);
    preparation_ = executable_->prepare({});
  }

  const cpu::Executable& executable() const { return *executable_; }
  const cpu::Preparation& preparation() const { return *preparation_; }

  std::shared_ptr<const cpu::Plan> plan(const std::vector<Tensor>& inputs) const {
    std::vector<cpu::InputValue> values(inputs.begin(), inputs.end());
    return executable_->plan(values);
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    const auto made = plan(inputs);
    std::vector<void*> input_data;
    for (const Tensor& input : inputs) input_data.push_back(input.data());
    std::vector<Tensor> outputs;
    std::vector<void*> output_data;
    for (const cpu::ConcreteType& type : cpu::Executable::output_types(*made)) {
      const Tensor memory = Tensor::empty(type.dtype, type.sizes);
      const auto bytes = static_cast<std::size_t>(memory.numel()) * dtype_size(type.dtype);
      if (bytes > 0) std::memset(memory.data(), 0xFF, bytes);
      outputs.push_back(
          Tensor::view(memory.data(), type.dtype, type.sizes, type.strides, memory.storage()));
      output_data.push_back(memory.data());
    }
    executable_->run(*made, *preparation_, input_data, output_data);
    return outputs;
  }

 private:
  std::shared_ptr<const cpu::Executable> executable_;
  std::shared_ptr<const cpu::Preparation> preparation_;
};

}  // namespace unfuse::testing
