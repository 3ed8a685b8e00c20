#include "pt2/scope.h"

#include <functional>

#include "pt2/tensor_meta.h"

namespace unfuse::pt2 {

void Scope::define(const Json& name, Meaning meaning) {
  if (!meanings_.emplace(name.string(), std::move(meaning)).second) {
    name.fail("the value '" + name.string() + "' is defined twice");
  }
}

const Meaning* Scope::find(const std::string& name) const {
  const auto found = meanings_.find(name);
  return found == meanings_.end() ? nullptr : &found->second;
}

const Meaning& Scope::at(const Json& name) const {
  const Meaning* meaning = find(name.string());
  if (meaning == nullptr) {
    name.fail("the value '" + name.string() + "' is used before it is defined");
  }
  return *meaning;
}

Value* Scope::value(const Json& name) const {
  const Meaning& meaning = at(name);
  if (!std::holds_alternative<Value*>(meaning)) {
    name.fail("'" + name.string() + "' is a number where a value of the graph is wanted");
  }
  return std::get<Value*>(meaning);
}

namespace {

Argument to_argument(const Meaning& meaning) {
  return std::visit([](const auto& held) { return Argument(held); }, meaning);
}

Value* read_tensor(const Json& tensor, const Scope& scope) {
  const Json name = tensor.at("name");
  Value* value = scope.value(name);
  const bool scalar = !value->is_tensor() && !std::holds_alternative<OpaqueType>(value->type());
  if (scalar) name.fail("'" + name.string() + "' is no tensor");
  return value;
}

Value* read_optional_tensor(const Json& tensor, const Scope& scope) {
  const std::string kind = tensor.only_key();
  if (kind == "as_none") return nullptr;
  if (kind != "as_tensor") tensor.fail("expected as_tensor or as_none");
  return read_tensor(tensor.at(kind), scope);
}

template <typename Read>
auto read_list(const Json& list, Read read) {
  std::vector<decltype(read(list))> elements;
  elements.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) elements.push_back(read(list.at(i)));
  return elements;
}

Dim read_sym_int(const Json& argument, const Scope& scope) {
  const std::string kind = argument.only_key();
  const Json held = argument.at(kind);
  if (kind == "as_int") return held.integer();
  if (kind != "as_name") argument.fail("expected as_name or as_int");
  const Meaning& meaning = scope.at(held);
  if (!std::holds_alternative<Dim>(meaning)) {
    held.fail("'" + held.string() + "' is no integer");
  }
  return std::get<Dim>(meaning);
}

// {"as_name": ...}, {"as_float": ...} or {"as_bool": ...}
Argument read_sym_scalar(const Json& argument, const Scope& scope) {
  const std::string kind = argument.only_key();
  const Json held = argument.at(kind);
  if (kind == "as_float") return held.number();
  if (kind == "as_bool") return held.boolean();
  if (kind != "as_name") argument.fail("expected a name or a number");
  return to_argument(scope.at(held));
}

// Numbers make a list of numbers; otherwise ours can hold the values alone.
template <typename Number>
ImportedArgument read_sym_scalars(const Json& list, const Scope& scope) {
  std::vector<Number> numbers;
  Argument::Tensors values;
  for (const Argument& element :
       read_list(list, [&](const Json& json) { return read_sym_scalar(json, scope); })) {
    if (element.is_value()) values.push_back(element.value());
    if (const auto* number = element.get_if<Number>()) numbers.push_back(*number);
  }
  if (numbers.size() == list.size()) return {numbers, true};
  return {values, false};
}

void collect_values(const ImportedArgument& imported, Argument::Tensors& values) {
  imported.argument.collect_values(values);
}

ImportedArgument read_dict(const Json& dict, const Scope& scope) {
  Argument::Tensors values;
  for (const std::string& key : dict.keys()) {
    collect_values(read_argument(dict.at(key), scope), values);
  }
  return {values, false};
}

ImportedArgument read_nested_tensors(const Json& lists, const Scope& scope) {
  Argument::Tensors values;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Json list = lists.at(i);
    for (std::size_t j = 0; j < list.size(); ++j) {
      values.push_back(read_tensor(list.at(j), scope));
    }
  }
  return {values, false};
}

ImportedArgument read_custom_object(const Json& object, const Scope& scope) {
  const Json name = object.at("name");
  if (const Meaning* meaning = scope.find(name.string())) {
    return {to_argument(*meaning), false};
  }
  return {"<object of class " + object.at("class_fqn").string() + ">", false};
}

ImportedArgument read_kind(const std::string& kind, const Json& held, const Scope& scope) {
  const auto tensor = [&](const Json& json) { return read_tensor(json, scope); };
  const auto optional_tensor = [&](const Json& json) { return read_optional_tensor(json, scope); };
  const auto sym_int = [&](const Json& json) { return read_sym_int(json, scope); };
  const auto dim = [](const Json& json) { return Dim(json.integer()); };
  if (kind == "as_none") return {};
  if (kind == "as_tensor") return {tensor(held)};
  if (kind == "as_tensors") return {read_list(held, tensor)};
  if (kind == "as_optional_tensor") return {optional_tensor(held)};
  if (kind == "as_optional_tensors") return {read_list(held, optional_tensor)};
  if (kind == "as_int") return {dim(held)};
  if (kind == "as_ints") return {read_list(held, dim)};
  if (kind == "as_sym_int") return {sym_int(held)};
  if (kind == "as_sym_ints") return {read_list(held, sym_int)};
  if (kind == "as_float") return {held.number()};
  if (kind == "as_floats") return {read_list(held, std::mem_fn(&Json::number))};
  if (kind == "as_sym_float") return {read_sym_scalar(held, scope)};
  if (kind == "as_sym_floats") return read_sym_scalars<double>(held, scope);
  if (kind == "as_bool") return {held.boolean()};
  if (kind == "as_bools") return {read_list(held, std::mem_fn(&Json::boolean))};
  if (kind == "as_sym_bool") return {read_sym_scalar(held, scope)};
  if (kind == "as_sym_bools") return read_sym_scalars<bool>(held, scope);
  if (kind == "as_string") return {held.string()};
  if (kind == "as_strings") {
    return {read_list(held, [](const Json& json) { return json.string(); })};
  }
  if (kind == "as_scalar_type") return {read_dtype(held)};
  if (kind == "as_memory_format") return {read_memory_format(held)};
  if (kind == "as_layout") return {read_layout(held)};
  if (kind == "as_device") return {read_device(held)};
  if (kind == "as_nested_tensors") return read_nested_tensors(held, scope);
  if (kind == "as_string_to_argument") return read_dict(held, scope);
  if (kind == "as_custom_obj") return read_custom_object(held, scope);
  if (kind == "as_graph") return {"<graph " + held.at("name").string() + ">", false};
  if (kind == "as_operator") return {"<operator " + held.string() + ">", false};
  if (kind == "as_complex" || kind == "as_int_lists" || kind == "as_float_lists") {
    return {"<" + kind.substr(3) + ">", false};
  }
  held.fail("unknown kind of argument '" + kind + "'");
}

}  // namespace

ImportedArgument read_argument(const Json& argument, const Scope& scope) {
  const std::string kind = argument.only_key();
  return read_kind(kind, argument.at(kind), scope);
}

Argument read_literal(const Json& literal) {
  const std::string kind = literal.only_key();
  const Json held = literal.at(kind);
  if (kind == "as_none") return {};
  if (kind == "as_int") return held.integer();
  if (kind == "as_float") return held.number();
  if (kind == "as_bool") return held.boolean();
  if (kind == "as_string") return held.string();
  literal.fail("expected a constant, found " + kind);
}

}  // namespace unfuse::pt2
