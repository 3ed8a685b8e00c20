#include "pt2/node_import.h"

#include <algorithm>
#include <utility>

#include "ir/builder.h"
#include "ir/type_check.h"
#include "ops/catalogue.h"
#include "pt2/opaque_schema.h"
#include "pt2/origin.h"
#include "pt2/tensor_meta.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

std::string place_of(const std::string& op_name, const Origin& origin) {
  std::string place = op_name;
  if (!origin.module_path.empty()) place += " at " + origin.module_path;
  if (!origin.source.empty()) place += " (" + origin.source + ")";
  return place;
}

// {"as_expr": ...} has no value yet; {"as_float": 0.5} has one.
bool is_expression(const Json& scalar) { return scalar.only_key() == "as_expr"; }

bool result_fits(const SchemaReturn& wanted, const Json& output) {
  const std::string kind = output.only_key();
  if (wanted.type != SchemaType::kTensor) return true;
  if (wanted.list) return kind == "as_tensors";
  return kind == "as_tensor" || kind == "as_none";
}

// The name in {"as_tensor": {"name": ...}}, {"as_sym_int": {"as_name": ...}} and their like.
Json declared_name(const Json& input) {
  const Json held = input.at(input.only_key());
  return held.has("as_name") ? held.at("as_name") : held.at("name");
}

void define_as(Scope& scope, const Json& name, const Argument& argument) {
  if (argument.is_value()) return scope.define(name, argument.value());
  if (const auto* dim = argument.get_if<Dim>()) return scope.define(name, *dim);
  if (const auto* number = argument.get_if<double>()) return scope.define(name, *number);
  if (const auto* flag = argument.get_if<bool>()) return scope.define(name, *flag);
  name.fail("'" + name.string() + "' stands for neither a tensor nor a number");
}

// torch.export records the types that ops gave under an autocast around it, and not the autocast:
// in torch, too, such a program gives other dtypes than it was exported with.
constexpr const char* kAutocastHint =
    "if the model was exported under torch.autocast, move that into its forward, and save "
    "program.run_decompositions(); else the file is damaged";

bool gives_half(const Node& node) {
  return std::any_of(node.results().begin(), node.results().end(), [](const Value* result) {
    return result->is_tensor() &&
           (result->dtype() == DType::kFloat16 || result->dtype() == DType::kBFloat16);
  });
}

}  // namespace

bool is_pure_scalar_target(const std::string& target) {
  return target.starts_with("_operator.") || target.starts_with("math.") ||
         target.starts_with("torch.sym_") || target.starts_with("torch.ops.aten.sym_size") ||
         target.starts_with("torch.ops.aten.sym_numel") ||
         target.starts_with("torch.ops.aten.sym_stride") ||
         target.starts_with("torch.ops.aten.sym_storage_offset");
}

std::string op_name_of_target(const std::string& target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  return target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : target;
}

Type ValueTypes::tensor_named(const std::string& name) const {
  return read_tensor_meta(graph_.at("tensor_values").at(name), *symbols_);
}

Dim ValueTypes::sym_int(const Json& name) const {
  return symbols_->read(graph_.at("sym_int_values").at(name.string()));
}

Argument ValueTypes::sym_float(const Json& name) const {
  const Json value = graph_.at("sym_float_values").at(name.string());
  if (is_expression(value)) return {};
  return value.at("as_float").number();
}

Argument ValueTypes::sym_bool(const Json& name) const {
  const Json value = graph_.at("sym_bool_values").at(name.string());
  if (is_expression(value)) return {};
  return value.at("as_bool").boolean();
}

NodeImporter::Result NodeImporter::tensor_result(const Json& tensor) const {
  const Json name = tensor.at("name");
  return {name, types_.tensor(name), nullptr};
}

void NodeImporter::read_result(const Json& output, std::vector<Result>& results) const {
  const std::string kind = output.only_key();
  const Json held = output.at(kind);
  if (kind == "as_tensor") {
    results.push_back(tensor_result(held));
  } else if (kind == "as_tensors") {
    for (std::size_t i = 0; i < held.size(); ++i) results.push_back(tensor_result(held.at(i)));
  } else if (kind == "as_none") {
    results.push_back({std::nullopt, NoneType{}, nullptr});
  } else if (kind == "as_sym_int") {
    const Json name = held.at("as_name");
    const Dim value = types_.sym_int(name);
    results.push_back({name, IntType{value}, value});
  } else if (kind == "as_sym_float") {
    const Json name = held.at("as_name");
    const Argument value = types_.sym_float(name);
    results.push_back(
        {name, FloatType{}, value.is_none() ? Meaning(nullptr) : Meaning(value.number())});
  } else if (kind == "as_sym_bool") {
    const Json name = held.at("as_name");
    const Argument value = types_.sym_bool(name);
    results.push_back(
        {name, BoolType{}, value.is_none() ? Meaning(nullptr) : Meaning(value.boolean())});
  } else if (kind == "as_custom_obj") {
    results.push_back({held.at("name"), OpaqueType{held.at("class_fqn").string()}, nullptr});
  } else {
    output.fail("unknown kind of result '" + kind + "'");
  }
}

std::vector<NodeImporter::Result> NodeImporter::read_results(const Json& outputs) const {
  std::vector<Result> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) read_result(outputs.at(i), results);
  return results;
}

std::vector<NodeImporter::NamedArgument> NodeImporter::read_arguments(const Json& inputs) const {
  constexpr std::int64_t kKeyword = 2;
  std::vector<NamedArgument> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Json input = inputs.at(i);
    NamedArgument argument;
    argument.name = input.at("name").string();
    const auto kind = input.find("kind");
    argument.keyword = kind && kind->integer() == kKeyword;
    argument.value = read_argument(input.at("arg"), *scope_);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// Our passes know what to do with everything that the node takes and gives: tensors, numbers that
// are known or sizes, but no floats and bools that are computed when the model runs. Only
// assertions, which give nothing, may take those.
bool NodeImporter::all_held(const std::vector<NamedArgument>& arguments,
                            const std::vector<Type>& types) {
  const auto opaque = [](const Type& type) { return std::holds_alternative<OpaqueType>(type); };
  if (std::any_of(types.begin(), types.end(), opaque)) return false;
  return std::all_of(arguments.begin(), arguments.end(), [&](const NamedArgument& argument) {
    std::vector<Value*> values;
    argument.value.argument.collect_values(values);
    return argument.value.exact &&
           std::none_of(values.begin(), values.end(), [&](const Value* value) {
             return opaque(value->type()) || (!types.empty() && !value->is_tensor());
           });
  });
}

bool NodeImporter::is_size_arithmetic(const std::string& target,
                                      const std::vector<Result>& results) const {
  if (!is_pure_scalar_target(target)) return false;
  return std::all_of(results.begin(), results.end(), [this](const Result& result) {
    const bool known = !std::holds_alternative<Value*>(result.meaning);
    const Dim* dim = std::get_if<Dim>(&result.meaning);
    return known && (dim == nullptr || symbols_->bound(*dim));
  });
}

void NodeImporter::check_results(const Json& node, const Op& op, const std::string& place) const {
  const Json outputs = node.at("outputs");
  const std::vector<SchemaReturn>& wanted = op.schema.returns;
  bool fits = outputs.size() == wanted.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    fits = result_fits(wanted[i], outputs.at(i));
  }
  if (!fits) outputs.fail("the results do not fit " + place);
}

Arguments NodeImporter::known_arguments(const Json& node, const Op& op,
                                        std::vector<NamedArgument> arguments,
                                        const std::string& place) const {
  std::vector<KeywordArgument> keywords;
  keywords.reserve(arguments.size());
  for (NamedArgument& argument : arguments) {
    keywords.push_back({argument.name, std::move(argument.value.argument)});
  }
  try {
    Arguments complete = complete_arguments(op, {}, keywords);
    conform_arguments(op, complete);
    return complete;
  } catch (const Error& error) {
    node.at("inputs").fail("the arguments do not fit " + place + ": " + error.message());
  }
}

const Op& NodeImporter::opaque_op(const std::string& name,
                                  const std::vector<NamedArgument>& arguments,
                                  const std::vector<Type>& types) {
  OpaqueSchema schema;
  for (const NamedArgument& argument : arguments) {
    schema.add_argument(argument.name, argument.keyword, argument.value.argument);
  }
  for (const Type& type : types) schema.add_return(type);
  return graph_->opaque_op(name, schema.schema());
}

void NodeImporter::check_recorded_types(const Json& node, const Node& made) const {
  try {
    check_types(made, graph_->symbols);
  } catch (const Error& error) {
    node.fail(place_of(made.op().name, made.origin()) + ": " + error.message(),
              gives_half(made) ? kAutocastHint : kDamagedHint);
  }
}

Node* NodeImporter::create(const Json& node, const std::string& op_name,
                           std::vector<NamedArgument> arguments, const std::vector<Result>& results,
                           int serial) {
  const Json metadata = node.at("metadata");
  Origin origin = read_origin(metadata);
  origin.recorded = serial;
  if (const auto stack = metadata.find("nn_module_stack"); stack && stack->is_string()) {
    collect_modules(stack->string(), *progress_->module_classes);
  }
  std::vector<Type> types;
  types.reserve(results.size());
  for (const Result& result : results) types.push_back(result.type);
  const Op* op = ops::find(op_name);
  Arguments complete;
  if (op != nullptr && all_held(arguments, types)) {
    const std::string place = place_of(op_name, origin);
    check_results(node, *op, place);
    complete = known_arguments(node, *op, std::move(arguments), place);
  } else {
    // Passes look ops up by name: a call that they cannot take must not have the name of one.
    op = &opaque_op(op == nullptr ? op_name : op_name + "(opaque)", arguments, types);
    for (NamedArgument& argument : arguments) {
      complete.push_back(std::move(argument.value.argument));
    }
  }
  // No name of the file, so that the results' own names stay free until they are given.
  Node* made = graph_->create_node(*op, std::move(complete), std::move(types), nullptr, "(new)");
  made->set_origin(origin);
  check_recorded_types(node, *made);
  return made;
}

void NodeImporter::define_results(const std::vector<Result>& results, Node* node) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    if (const auto* tensor = std::get_if<TensorType>(&result.type)) {
      for (const Dim& size : tensor->sizes) symbols_->bind(size);
    }
    if (const Dim* dim = std::get_if<Dim>(&result.meaning)) symbols_->bind(*dim);
    Meaning meaning = result.meaning;
    if (node != nullptr) {
      Value* value = node->result(static_cast<int>(i));
      graph_->rename(value, result.name ? result.name->string() : "none");
      if (result.name && value->name() != result.name->string()) {
        (*progress_->file_names)[value->name()] = result.name->string();
      }
      if (std::holds_alternative<Value*>(meaning)) meaning = value;
    }
    if (!result.name) continue;
    scope_->define(*result.name, std::move(meaning));
  }
}

// The region's names are its own; its operands and results tie them to those around it.
void NodeImporter::import_region(const Json& node, const Region& region, int index) {
  const Json operands = node.at("inputs");
  const Json names = region.graph.at("inputs");
  if (operands.size() - region.first_operand != names.size()) {
    node.fail("a region of " + std::to_string(names.size()) + " inputs gets " +
              std::to_string(operands.size() - region.first_operand));
  }
  Scope inside;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Json operand = operands.at(region.first_operand + i).at("arg");
    define_as(inside, declared_name(names.at(i)), read_argument(operand, *scope_).argument);
  }
  NodeImporter importer(*graph_, region.graph, *symbols_, inside, *progress_);
  const Json nodes = region.graph.at("nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) importer.import(nodes.at(i), index);

  const Json given = region.graph.at("outputs");
  const std::vector<Result> results = read_results(node.at("outputs"));
  if (given.size() != results.size()) given.fail("the region's results do not fit its node's");
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].name) continue;
    define_as(*scope_, *results[i].name, read_argument(given.at(i), inside).argument);
  }
}

void NodeImporter::import(const Json& node, int index) {
  const int serial = progress_->seen++;
  const std::string& target = node.at("target").string();
  if (const auto region = transparent_region(target, node.at("inputs"))) {
    import_region(node, *region, index);
    return;
  }
  std::vector<NamedArgument> arguments = read_arguments(node.at("inputs"));
  const std::vector<Result> results = read_results(node.at("outputs"));
  Node* made = nullptr;
  if (results.empty() || !is_size_arithmetic(target, results)) {
    made = create(node, op_name_of_target(target), std::move(arguments), results, serial);
    made->set_import_index(index);
  }
  define_results(results, made);
}

void erase_unused_scalar_nodes(Graph& graph) {
  Node* previous = nullptr;
  for (Node* node = graph.last_node(); node != nullptr; node = previous) {
    previous = node->previous();
    if (node->results().empty() || !is_pure_scalar_target(node->op().name)) continue;
    const bool unused =
        std::all_of(node->results().begin(), node->results().end(), [](const Value* result) {
          const bool scalar = std::holds_alternative<FloatType>(result->type()) ||
                              std::holds_alternative<BoolType>(result->type());
          return scalar && result->use_count() == 0;
        });
    if (unused) graph.erase(node);
  }
}

}  // namespace unfuse::pt2
