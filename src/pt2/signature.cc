#include "pt2/signature.h"

#include <algorithm>
#include <optional>

#include "pt2/failure.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

NamedTupleFields read_namedtuple_fields(const Json& graph_module) {
  NamedTupleFields fields;
  const auto definitions = graph_module.find("treespec_namedtuple_fields");
  if (!definitions) return fields;
  for (const std::string& type : definitions->keys()) {
    const Json names = definitions->at(type).at("field_names");
    for (std::size_t i = 0; i < names.size(); ++i) {
      fields[type].push_back(names.at(i).string());
    }
  }
  return fields;
}

// The signature of the root module, whose name is empty.
std::optional<Json> root_call(const Json& graph_module) {
  const auto modules = graph_module.find("module_call_graph");
  if (!modules) return std::nullopt;
  for (std::size_t i = 0; i < modules->size(); ++i) {
    const Json module = modules->at(i);
    if (module.at("fqn").string().empty()) return module.find("signature");
  }
  return std::nullopt;
}

bool is_call_argument(const Json& spec) {
  const std::string kind = spec.only_key();
  return kind == "user_input" || kind == "constant_input";
}

std::size_t count_call_arguments(const Json& specs) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) count += is_call_argument(specs.at(i)) ? 1 : 0;
  return count;
}

// The name in {"as_tensor": {"name": ...}} and its like.
Json name_in(const Json& argument) {
  const std::string kind = argument.only_key();
  const Json held = argument.at(kind);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    return held.at("as_name");
  }
  return held.at("name");
}

void check_same_name(const Json& in_graph, const Json& in_signature) {
  if (in_graph.string() == in_signature.string()) return;
  in_signature.fail("the signature names '" + in_signature.string() + "' where the graph has '" +
                    in_graph.string() + "'");
}

void check_same_count(const Json& in_graph, const Json& specs, const char* what) {
  if (in_graph.size() == specs.size()) return;
  specs.fail("the signature lists " + std::to_string(specs.size()) + " " + what +
             ", the graph has " + std::to_string(in_graph.size()));
}

}  // namespace

CallSignature read_call_signature(const Json& graph_module) {
  CallSignature signature;
  const std::optional<Json> call = root_call(graph_module);
  if (!call) return signature;
  signature.in_spec = call->at("in_spec").string();
  signature.out_spec = call->at("out_spec").string();
  if (const auto names = call->find("forward_arg_names")) {
    for (std::size_t i = 0; i < names->size(); ++i) {
      signature.argument_names.push_back(names->at(i).string());
    }
  }
  signature.namedtuple_fields = read_namedtuple_fields(graph_module);
  return signature;
}

SignatureImporter::SignatureImporter(Graph& graph, const Json& graph_module, SymbolTable& symbols,
                                     Scope& scope)
    : graph_(&graph),
      graph_json_(graph_module.at("graph")),
      signature_(graph_module.at("signature")),
      types_(graph_json_, symbols),
      symbols_(&symbols),
      scope_(&scope) {}

void SignatureImporter::import_inputs(const CallSignature& signature) {
  const Json inputs = graph_json_.at("inputs");
  const Json specs = signature_.at("input_specs");
  check_same_count(inputs, specs, "inputs");
  if (!signature.in_spec.empty()) {
    try {
      const PyTree tree = parse_pytree(signature.in_spec, signature.namedtuple_fields);
      leaf_names_ = argument_leaf_names(tree, signature.argument_names);
    } catch (const Error& error) {
      signature_.fail("the call's in_spec cannot be read: " + error.message());
    }
  }
  if (leaf_names_.size() != count_call_arguments(specs)) leaf_names_.clear();
  symbols_->set_reading_inputs(true);
  for (std::size_t i = 0; i < inputs.size(); ++i) import_input(inputs.at(i), specs.at(i));
  symbols_->set_reading_inputs(false);
}

std::string SignatureImporter::next_leaf_name(const std::string& placeholder) {
  const std::size_t leaf = next_leaf_++;
  return leaf < leaf_names_.size() ? leaf_names_[leaf] : placeholder;
}

void SignatureImporter::import_input(const Json& argument, const Json& spec) {
  const std::string kind = spec.only_key();
  const Json held = spec.at(kind);
  if (kind == "constant_input") {
    graph_->add_literal_input(next_leaf_name(held.at("name").string()),
                              read_literal(held.at("value")));
    return;
  }
  if (kind == "user_input") {
    check_same_name(name_in(argument), name_in(held.at("arg")));
    add_user_input(argument);
    return;
  }
  const Json name = name_in(argument);
  check_same_name(name, held.at("arg").at("name"));
  if (kind == "parameter") {
    add_tensor(name, InputKind::kParameter, held.at("parameter_name").string(), true);
  } else if (kind == "buffer") {
    add_tensor(name, InputKind::kBuffer, held.at("buffer_name").string(),
               held.at("persistent").boolean());
  } else if (kind == "tensor_constant") {
    add_tensor(name, InputKind::kConstant, held.at("tensor_constant_name").string(), true);
  } else if (kind == "custom_obj") {
    add_opaque(name, held.at("arg").at("class_fqn").string(), InputKind::kConstant);
  } else if (kind == "token") {
    add_opaque(name, "an effect token", InputKind::kConstant);
  } else {
    spec.fail("unknown kind of input '" + kind + "'");
  }
}

void SignatureImporter::add_tensor(const Json& name, InputKind kind, const std::string& target,
                                   bool persistent) {
  Type type = types_.tensor(name);
  if (const auto* tensor = std::get_if<TensorType>(&type)) {
    for (const Dim& size : tensor->sizes) symbols_->bind(size);
  }
  GraphInput input;
  input.kind = kind;
  input.target = target;
  input.persistent = persistent;
  scope_->define(name, graph_->add_input(name.string(), std::move(type), std::move(input)));
}

void SignatureImporter::add_opaque(const Json& name, const std::string& class_name,
                                   InputKind kind) {
  GraphInput input;
  input.kind = kind;
  input.target = name.string();
  scope_->define(name, graph_->add_input(name.string(), OpaqueType{class_name}, std::move(input)));
}

void SignatureImporter::add_user_input(const Json& argument) {
  const Json name = name_in(argument);
  const std::string target = next_leaf_name(name.string());
  user_targets_[name.string()] = target;
  const std::string kind = argument.only_key();
  if (kind == "as_tensor") {
    add_tensor(name, InputKind::kUser, target, true);
    return;
  }
  GraphInput input;
  input.kind = InputKind::kUser;
  input.target = target;
  if (kind == "as_sym_int") {
    const Dim value = types_.sym_int(name);
    symbols_->bind(value);
    graph_->add_input(name.string(), IntType{value}, std::move(input));
    scope_->define(name, value);
    return;
  }
  if (kind != "as_custom_obj") argument.fail("unknown kind of input '" + kind + "'");
  const OpaqueType type{argument.at(kind).at("class_fqn").string()};
  scope_->define(name, graph_->add_input(name.string(), type, std::move(input)));
}

void SignatureImporter::import_outputs() {
  const Json outputs = graph_json_.at("outputs");
  const Json specs = signature_.at("output_specs");
  check_same_count(outputs, specs, "outputs");
  for (std::size_t i = 0; i < outputs.size(); ++i) import_output(outputs.at(i), specs.at(i));
}

// The target of the input that a mutation writes to, by the name that the signature gives it.
std::string SignatureImporter::mutated_input(const Json& name, InputKind kind) const {
  std::string target = name.string();
  if (kind == InputKind::kUser) {
    const auto found = user_targets_.find(target);
    if (found != user_targets_.end()) target = found->second;
  }
  const auto& inputs = graph_->inputs();
  const bool exists = std::any_of(inputs.begin(), inputs.end(), [&](const GraphInput& input) {
    return input.kind == kind && input.target == target && input.value->is_tensor();
  });
  if (!exists) name.fail("'" + name.string() + "' is mutated, but is no input");
  return target;
}

void SignatureImporter::import_output(const Json& argument, const Json& spec) {
  const std::string kind = spec.only_key();
  const Json held = spec.at(kind);
  if (kind == "token") return;
  ImportedArgument imported = read_argument(argument, *scope_);
  GraphOutput output;
  output.value = std::move(imported.argument);
  const bool constant = output.value.is_none() || output.value.holds<Dim>() ||
                        output.value.is_constant_scalar() || output.value.holds<std::string>();
  if (!imported.exact || (!constant && !output.value.is_value())) {
    argument.fail("not a value that a program can return");
  }
  if (kind == "buffer_mutation") {
    output.kind = OutputKind::kBufferMutation;
    output.target = mutated_input(held.at("buffer_name"), InputKind::kBuffer);
  } else if (kind == "parameter_mutation") {
    output.kind = OutputKind::kParameterMutation;
    output.target = mutated_input(held.at("parameter_name"), InputKind::kParameter);
  } else if (kind == "user_input_mutation") {
    output.kind = OutputKind::kUserInputMutation;
    output.target = mutated_input(held.at("user_input_name"), InputKind::kUser);
  } else if (kind == "gradient_to_parameter" || kind == "gradient_to_user_input") {
    pt2::fail(spec.document().file(), "the program computes gradients",
              "export the model for inference: without a loss");
  } else if (kind != "user_output" && kind != "loss_output") {
    spec.fail("unknown kind of output '" + kind + "'");
  }
  const bool mutation = output.kind != OutputKind::kUser;
  if (mutation && !(output.value.is_value() && output.value.value()->is_tensor())) {
    argument.fail("a mutation writes a tensor");
  }
  graph_->add_output(std::move(output));
}

}  // namespace unfuse::pt2
