#include "targets/cpu/input_binding.h"

#include <fmt/format.h>

#include "ir/linear_dim.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

std::string input_where(const std::string& name) { return fmt::format("input '{}'", name); }

[[noreturn]] void reject(const std::string& name, const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message, input_where(name));
}

std::int64_t size_at(const InputValue& value, std::size_t dimension) {
  return value.is_tensor() ? value.sizes()[dimension] : value.value();
}

}  // namespace

InputBinding::InputBinding(const Graph& graph) : ranges_(graph.symbols) {
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind != InputKind::kUser) continue;
    Input bound;
    bound.name = input.target.empty() ? input.value->name() : input.target;
    if (const auto* integer = std::get_if<IntType>(&input.value->type())) {
      bound.is_tensor = false;
      bound.value = integer->value;
    } else if (input.value->is_tensor()) {
      bound.type = input.value->tensor();
    } else {
      throw Error(
          ErrorKind::kUnsupported,
          "an input must be a tensor or an int, this one is " + to_string(input.value->type()),
          input_where(bound.name));
    }
    inputs_.push_back(std::move(bound));
  }
  find_sources();
  check_symbols_of(graph);
}

void InputBinding::find_sources() {
  const auto consider = [&](std::size_t input, std::size_t dimension, const Dim& expression) {
    const std::optional<LinearDim> linear = as_linear(expression);
    if (!linear) return;
    Source source{linear->symbol,      input,         dimension, expression,
                  linear->coefficient, linear->offset};
    for (Source& known : sources_) {
      if (known.symbol != source.symbol) continue;
      const bool plainer = known.coefficient != 1 && source.coefficient == 1;
      if (plainer) known = source;
      return;
    }
    sources_.push_back(std::move(source));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_tensor) {
      consider(i, 0, inputs_[i].value);
      continue;
    }
    for (std::size_t j = 0; j < inputs_[i].type.sizes.size(); ++j) {
      consider(i, j, inputs_[i].type.sizes[j]);
    }
  }
}

const InputBinding::Source* InputBinding::source_of(const std::string& symbol) const {
  for (const Source& source : sources_) {
    if (source.symbol == symbol) return &source;
  }
  return nullptr;
}

void InputBinding::check_symbols_of(const Graph& graph) const {
  const auto check = [&](const Dim& dim, const std::string& where) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    for (const std::string& name : names) {
      if (source_of(name) != nullptr) continue;
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("the size {} cannot be told from the inputs' sizes", name), where);
    }
  };
  const auto check_type = [&](const Type& type, const std::string& where) {
    const auto* tensor = std::get_if<TensorType>(&type);
    if (tensor == nullptr) return;
    for (const Dim& size : tensor->sizes) check(size, where);
  };
  for (const Input& input : inputs_) {
    if (input.is_tensor) {
      check_type(input.type, input_where(input.name));
    } else {
      check(input.value, input_where(input.name));
    }
  }
  for (const Node* node : graph.nodes()) {
    for (const Value* result : node->results()) check_type(result->type(), node->where());
  }
}

SymbolValues InputBinding::bind(std::span<const InputValue> values) const {
  check_kinds(values);
  SymbolValues symbols;
  for (const Source& source : sources_) {
    const std::int64_t size = size_at(values[source.input], source.dimension);
    const std::int64_t multiple = size - source.offset;
    if (multiple % source.coefficient != 0) {
      reject(inputs_[source.input].name,
             fmt::format("size {} in dimension {} is not of the form {}", size, source.dimension,
                         source.expression.to_string()));
    }
    symbols[source.symbol] = multiple / source.coefficient;
  }
  check_sizes(values, symbols);
  for (const Source& source : sources_) {
    const auto range = ranges_.find(source.symbol);
    if (range == ranges_.end()) continue;
    const std::int64_t value = symbols.at(source.symbol);
    if (value >= range->second.minimum && value <= range->second.maximum) continue;
    const std::string most =
        range->second.maximum == INT64_MAX ? "any size" : std::to_string(range->second.maximum);
    reject(inputs_[source.input].name,
           fmt::format("size {} in dimension {} is outside of what the model was exported for: {} "
                       "from {} to {}",
                       size_at(values[source.input], source.dimension), source.dimension,
                       source.symbol, range->second.minimum, most));
  }
  return symbols;
}

void InputBinding::check_kinds(std::span<const InputValue> values) const {
  if (values.size() != inputs_.size()) {
    std::string names;
    for (const Input& input : inputs_) names += (names.empty() ? "" : ", ") + input.name;
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} inputs were given, but {} are needed", values.size(), inputs_.size()), "",
        names.empty() ? "" : "the inputs are: " + names);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Input& input = inputs_[i];
    const InputValue& value = values[i];
    if (value.is_tensor() != input.is_tensor) {
      reject(input.name,
             input.is_tensor ? "a tensor is needed, not an int" : "an int is needed, not a tensor");
    }
    if (!value.is_tensor()) continue;
    if (value.dtype() != input.type.dtype) {
      reject(input.name, fmt::format("dtype is {}, but {} is needed", dtype_name(value.dtype()),
                                     dtype_name(input.type.dtype)));
    }
    const auto rank = static_cast<std::int64_t>(value.sizes().size());
    if (rank != input.type.rank()) {
      reject(input.name,
             fmt::format("{} dimensions were given, but {} are needed", rank, input.type.rank()));
    }
  }
}

void InputBinding::check_sizes(std::span<const InputValue> values,
                               const SymbolValues& symbols) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Input& input = inputs_[i];
    const std::size_t count = input.is_tensor ? input.type.sizes.size() : 1;
    for (std::size_t j = 0; j < count; ++j) {
      const Dim& expected = input.is_tensor ? input.type.sizes[j] : input.value;
      const std::int64_t size = size_at(values[i], j);
      const std::int64_t wanted = expected.evaluate(symbols);
      if (size == wanted) continue;
      if (!input.is_tensor) {
        reject(input.name,
               fmt::format("{} was given, but {} is needed{}", size, wanted, describe(expected)));
      }
      reject(input.name, fmt::format("size {} in dimension {}, but {} is needed{}", size, j, wanted,
                                     describe(expected)));
    }
  }
}

std::string InputBinding::describe(const Dim& dim) const {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  if (names.empty()) return "";
  const Source* source = source_of(names[0]);
  return fmt::format(" ({}, with {} from input '{}')", dim.to_string(), names[0],
                     inputs_[source->input].name);
}

}  // namespace unfuse::cpu
