#include "pt2/level_export.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/builder.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::ordered_json;

constexpr int kPositional = 1;
constexpr int kKeyword = 2;

std::string target_of(const RecordedNode& node) { return node.json.read.at("target").string(); }

ordered_json named_argument(const std::string& name, ordered_json argument, int kind) {
  return {{"name", name}, {"arg", std::move(argument)}, {"kind", kind}};
}

ordered_json call(const std::string& target, ordered_json inputs, ordered_json outputs,
                  ordered_json metadata, const std::string& name) {
  return {{"target", target},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"metadata", std::move(metadata)},
          {"is_hop_single_tensor_return", nullptr},
          {"name", name}};
}

std::optional<Meaning> number_in(const Argument& argument) {
  if (const auto* size = argument.get_if<Dim>()) return *size;
  if (const auto* number = argument.get_if<double>()) return *number;
  if (const auto* flag = argument.get_if<bool>()) return *flag;
  return std::nullopt;
}

// "split" of "aten.split.Tensor"
std::string packet_of(const std::string& op) {
  const std::size_t first = op.find('.');
  return op.substr(first + 1, op.rfind('.') - first - 1);
}

}  // namespace

LevelExporter::LevelExporter(const ExportSources& sources, int level)
    : sources_(sources),
      level_(sources.recorded->levels().at(static_cast<std::size_t>(level))),
      index_(level) {}

void LevelExporter::define_input(const std::string& name, const std::optional<Meaning>& meaning) {
  if (!meaning) {
    names_.reserve(name);
  } else if (Value* const* value = std::get_if<Value*>(&*meaning)) {
    names_.define_value(name, *value);
  } else {
    names_.define(name, *meaning);
  }
  for (const char* table : kTypeTables) {
    if (const auto* type = level_.type(table, name)) types_[table][name] = *type;
  }
}

std::string LevelExporter::add_input(Value* value) {
  std::string name = names_.unused(value->name());
  define_result(name, value, -1);
  return name;
}

std::string LevelExporter::file_name(const Value* value) const {
  const auto found = sources_.file_names->find(value->name());
  return found == sources_.file_names->end() ? value->name() : found->second;
}

std::string LevelExporter::name_of_value(const Value* value) const {
  const auto name = names_.name_of(value);
  if (name) return *name;
  // A value of another region: it has no name here.
  throw RegionChanged{};
}

int LevelExporter::own_level(const Node& node) const {
  const int serial = node.origin().recorded;
  return sources_.dissolve_regions || serial < 0 ? index_ : recorded(serial).level;
}

void LevelExporter::find_pending(const std::vector<Node*>& nodes) {
  std::unordered_set<int> held;
  for (const Node* node : nodes) {
    if (node->import_index() >= 0) held.insert(node->origin().recorded);
  }
  const auto& all = sources_.recorded->nodes();
  for (int serial = 0; serial < static_cast<int>(all.size()); ++serial) {
    const RecordedNode& node = recorded(serial);
    const bool here = sources_.dissolve_regions ? !node.graph : node.level == index_;
    if (!here || held.contains(serial)) continue;
    // What else is not held was erased by a pass.
    if (!node.graph && !is_pure_scalar_target(target_of(node))) continue;
    pending_.push_back(serial);
    for (const std::string& name : result_names(node.json.read.at("outputs"))) {
      names_.reserve(name);
    }
  }
}

void LevelExporter::write_nodes(const std::vector<Node*>& nodes) {
  find_pending(nodes);
  const auto& levels = sources_.recorded->levels();
  // Nodes of each region of this level.
  std::map<int, std::vector<Node*>> regions;
  const auto region_of = [&](const Node& node) {
    int level = own_level(node);
    if (level == index_) return -1;
    while (levels[static_cast<std::size_t>(level)].parent != index_) {
      level = levels[static_cast<std::size_t>(level)].parent;
    }
    return levels[static_cast<std::size_t>(level)].node;
  };
  for (Node* node : nodes) {
    if (const int region = region_of(*node); region >= 0) regions[region].push_back(node);
  }
  for (Node* node : nodes) {
    const int region = region_of(*node);
    const int serial = region >= 0 ? region : node->origin().recorded;
    if (region >= 0 && !regions.contains(region)) continue;
    write_pending(serial);
    current_ = serial;
    if (region >= 0) {
      std::erase(pending_, region);
      write_region(region, regions.at(region));
      regions.erase(region);
    } else {
      write_node(node);
    }
  }
  write_pending(static_cast<int>(sources_.recorded->nodes().size()));
}

void LevelExporter::write_pending(int before) {
  std::erase_if(pending_, [&](int serial) {
    if (serial >= before) return false;
    current_ = serial;
    if (!recorded(serial).graph) return write_arithmetic(serial);
    write_region(serial, {});
    return true;
  });
}

void LevelExporter::copy_types(const RecordedNode& node, const std::vector<std::string>& names) {
  const auto& level = sources_.recorded->levels().at(static_cast<std::size_t>(node.level));
  for (const char* table : kTypeTables) {
    for (const std::string& name : names) {
      if (const auto* type = level.type(table, name)) types_[table][name] = *type;
    }
  }
}

// Arithmetic on sizes, as recorded, if all that it reads is there.
bool LevelExporter::write_arithmetic(int serial) {
  const RecordedNode& node = recorded(serial);
  ordered_json text = *node.json.text;
  for (const std::string* name : operand_names(text.at("inputs"))) {
    if (!names_.defined(*name)) return false;
  }
  const Json outputs = node.json.read.at("outputs");
  const std::vector<std::string> names = result_names(outputs);
  const ValueTypes types(level_of(serial).json.read, *sources_.symbols);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names_.defined(names[i])) return false;
    const Json output = outputs.at(i);
    const std::string kind = output.only_key();
    if (kind == "as_sym_int") {
      names_.define(names[i], types.sym_int(output.at(kind).at("as_name")));
    } else {
      // Nothing of ours uses a float or bool that is not held, but other arithmetic may.
      names_.define(names[i], 0.0);
    }
  }
  copy_types(node, names);
  written_.push_back({std::move(text), true, serial});
  return true;
}

Argument LevelExporter::recorded_operand(const Json& operand) const {
  try {
    return read_argument(operand, names_.scope()).argument;
  } catch (const Error&) {  // a name that is gone
    throw RegionChanged{};
  }
}

void LevelExporter::write_region(int serial, const std::vector<Node*>& nodes) {
  const RecordedNode& node = recorded(serial);
  const int level = *node.graph;
  const RecordedLevel& inner = sources_.recorded->levels().at(static_cast<std::size_t>(level));
  LevelExporter exporter(sources_, level);
  ordered_json text = *node.json.text;

  const Json operands = node.json.read.at("inputs");
  const Json parameters = inner.json.read.at("inputs");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Json operand = operands.at(inner.first_operand + i).at("arg");
    const Argument given = recorded_operand(operand);
    const Json held = parameters.at(i).at(parameters.at(i).only_key());
    const std::string name = (held.has("as_name") ? held.at("as_name") : held.at("name")).string();
    std::optional<Meaning> meaning = number_in(given);
    if (given.is_value()) meaning = given.value();
    exporter.define_input(name, meaning);
  }
  exporter.write_nodes(nodes);

  const RecordedJson outputs = inner.json.at("outputs");
  const std::vector<std::string> names = result_names(node.json.read.at("outputs"));
  if (outputs.size() != names.size()) throw RegionChanged{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Argument given = exporter.recorded_result(outputs.at(i));
    if (names[i].empty()) continue;
    if (given.is_value()) names_.define_value(names[i], given.value());
    if (const auto meaning = number_in(given)) names_.define(names[i], *meaning);
  }
  copy_types(node, names);
  ordered_json graph = exporter.take();
  graph["inputs"] = inner.json.text->at("inputs");
  graph["outputs"] = *outputs.text;
  text["inputs"][inner.first_operand - 1]["arg"]["as_graph"]["graph"] = std::move(graph);
  written_.push_back({std::move(text), false, serial});
}

bool LevelExporter::says_the_same(const Node& node, const Json& recorded) const {
  const std::string name = op_name_of_target(recorded.at("target").string());
  const Op& op = node.op();
  if (op.name != name && op.name != name + "(opaque)") return false;
  const Json inputs = recorded.at("inputs");
  Arguments positional;
  std::vector<KeywordArgument> keywords;
  try {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Argument argument = read_argument(inputs.at(i).at("arg"), names_.scope()).argument;
      if (op.opaque()) {
        positional.push_back(std::move(argument));
      } else {
        keywords.push_back({inputs.at(i).at("name").string(), std::move(argument)});
      }
    }
    if (op.opaque()) return positional == node.arguments();
    Arguments complete = complete_arguments(op, {}, keywords);
    conform_arguments(op, complete);
    return complete == node.arguments();
  } catch (const Error&) {  // a name that is gone
    return false;
  }
}

bool LevelExporter::write_as_recorded(Node* node) {
  const int serial = node->origin().recorded;
  if (serial < 0 || node->import_index() < 0) return false;
  const RecordedNode& source = recorded(serial);
  const Json& read = source.json.read;
  const std::vector<std::string> names = result_names(read.at("outputs"));
  if (names.size() != node->results().size() || !says_the_same(*node, read)) return false;
  const ValueTypes types(level_of(serial).json.read, *sources_.symbols);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Value* result = node->results()[i];
    if (names[i].empty()) continue;
    if (names_.known(names[i])) return false;
    if (!result->is_tensor()) continue;
    if (level_of(serial).type("tensor_values", names[i]) == nullptr) return false;
    const Type type = types.tensor_named(names[i]);
    const auto* tensor = std::get_if<TensorType>(&type);
    if (tensor == nullptr || !same_type(*tensor, result->tensor(), false)) return false;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) names_.define_value(names[i], node->results()[i]);
  }
  copy_types(source, names);
  written_.push_back({*source.json.text, false, serial});
  return true;
}

// What only the file can say of a node's arguments stays; the names in them follow the graph.
void LevelExporter::write_renamed(Node* node) {
  const RecordedNode& source = recorded(node->origin().recorded);
  ordered_json text = *source.json.text;
  std::vector<Value*> values;
  for (const Argument& argument : node->arguments()) argument.collect_values(values);
  std::vector<std::string*> places;
  for (std::string* name : operand_names(text.at("inputs"))) {
    const Meaning* meaning = names_.scope().find(*name);
    if (meaning == nullptr || std::holds_alternative<Value*>(*meaning)) places.push_back(name);
  }
  if (places.size() != values.size()) {
    throw Error(ErrorKind::kUnsupported, "its arguments cannot be written to a file",
                node->where());
  }
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = name_of_value(values[i]);
  const std::vector<std::string> names = result_names(source.json.read.at("outputs"));
  for (const std::string& name : names) {
    if (!name.empty() && names_.known(name)) throw RegionChanged{};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) names_.define_value(names[i], node->results()[i]);
  }
  copy_types(source, names);
  written_.push_back({std::move(text), false, node->origin().recorded});
}

void LevelExporter::write_node(Node* node) {
  if (write_as_recorded(node)) return;
  if (node->op().opaque()) return write_renamed(node);
  write_anew(node);
}

ordered_json LevelExporter::metadata(int serial) const {
  ordered_json metadata = ordered_json::object();
  if (serial < 0) return metadata;
  const ordered_json& source = recorded(serial).json.text->at("metadata");
  for (const char* key : {"stack_trace", "nn_module_stack"}) {
    if (const auto found = source.find(key); found != source.end()) metadata[key] = *found;
  }
  return metadata;
}

void LevelExporter::define_result(const std::string& name, Value* value, int serial) {
  names_.define_value(name, value);
  const auto* type = std::get_if<TensorType>(&value->type());
  if (type == nullptr) return;
  // Where the value stands for a recorded one, its type is what the exporter saw.
  const auto* seen = serial < 0 ? nullptr : level_of(serial).type("tensor_values", name);
  if (seen != nullptr) {
    const ValueTypes types(level_of(serial).json.read, *sources_.symbols);
    const Type recorded_type = types.tensor_named(name);
    const auto* tensor = std::get_if<TensorType>(&recorded_type);
    if (tensor != nullptr && same_type(*tensor, *type, true)) {
      types_["tensor_values"][name] = *seen;
      return;
    }
  }
  types_["tensor_values"][name] = export_tensor_meta(*type, *sources_.sizes, false);
}

void LevelExporter::write_anew(Node* node) {
  const Op& op = node->op();
  const int serial = node->origin().recorded;
  if (!op.name.starts_with("aten.") && !op.name.starts_with("prims.")) {
    throw Error(ErrorKind::kInternal, "this op is none of torch's", node->where());
  }
  const NameSource names{[this](const Value* value) { return name_of_value(value); },
                         [this](const Dim& size) { return name_of_size(size); }};
  const auto& declared = op.schema.arguments;
  std::size_t positional = 0;
  const auto is_default = [&](std::size_t i) {
    return declared[i].has_default && node->arguments()[i] == declared[i].default_value;
  };
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (!declared[i].keyword_only && !is_default(i)) positional = i + 1;
  }
  ordered_json inputs = ordered_json::array();
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const bool keyword = declared[i].keyword_only;
    if (keyword ? is_default(i) : i >= positional) continue;
    inputs.push_back(named_argument(declared[i].name,
                                    export_argument(node->arguments()[i], &declared[i], names),
                                    keyword ? kKeyword : kPositional));
  }
  std::vector<std::string> results;
  for (Value* result : node->results()) {
    results.push_back(names_.unused(file_name(result)));
    if (!result->is_none()) define_result(results.back(), result, serial);
  }
  ordered_json outputs = ordered_json::array();
  const bool list = op.schema.returns.size() == 1 && op.schema.returns[0].list;
  if (list) {
    ordered_json elements = ordered_json::array();
    for (const std::string& name : results) elements.push_back({{"name", name}});
    outputs.push_back({{"as_tensors", std::move(elements)}});
  } else {
    for (std::size_t i = 0; i < results.size(); ++i) {
      outputs.push_back(export_name(*node->results()[i], results[i]));
    }
  }
  const bool single = results.size() == 1 && !list;
  const std::string name = single ? results.front() : names_.unused(packet_of(op.name));
  names_.reserve(name);
  written_.push_back(
      {call("torch.ops." + op.name, std::move(inputs), std::move(outputs), metadata(serial), name),
       false, -1});
}

}  // namespace unfuse::pt2
