#include "pt2/recorded_program.h"

#include <map>

#include "pt2/region_import.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::ordered_json;

std::string result_name(const Json& output) {
  const std::string kind = output.only_key();
  const Json held = output.at(kind);
  if (!held.is_object()) return "";
  return held.has("as_name") ? held.at("as_name").string() : held.at("name").string();
}

void collect_names(ordered_json& argument, std::vector<std::string*>& names);

void collect_name(ordered_json& held, std::vector<std::string*>& names) {
  for (const char* key : {"name", "as_name"}) {
    const auto found = held.find(key);
    if (found != held.end()) names.push_back(found->get_ptr<std::string*>());
  }
}

// A kind's payload: {"name": ...}, {"as_name": ...}, {"as_tensor": ...}, or lists of them.
void collect_names_held(ordered_json& held, std::vector<std::string*>& names) {
  if (held.is_array()) {
    for (ordered_json& element : held) collect_names_held(element, names);
  } else if (held.is_object()) {
    collect_name(held, names);
    if (const auto found = held.find("as_tensor"); found != held.end()) {
      collect_name(*found, names);
    }
  }
}

void collect_names(ordered_json& argument, std::vector<std::string*>& names) {
  for (auto& [kind, held] : argument.items()) {
    if (kind == "as_graph") continue;
    if (kind != "as_string_to_argument") {
      collect_names_held(held, names);
      continue;
    }
    std::map<std::string, ordered_json*> sorted;
    for (auto& [key, element] : held.items()) sorted[key] = &element;
    for (auto& [key, element] : sorted) collect_names(*element, names);
  }
}

}  // namespace

const ordered_json* RecordedLevel::type(const std::string& table, const std::string& name) const {
  const auto found = types.find(table);
  if (found == types.end()) return nullptr;
  const auto type = found->second.find(name);
  return type == found->second.end() ? nullptr : type->second;
}

RecordedProgram::RecordedProgram(const RecordedJson& graph) { add_level(graph, -1, -1); }

int RecordedProgram::add_level(const RecordedJson& graph, int parent, int node) {
  const auto level = static_cast<int>(levels_.size());
  levels_.push_back({graph, parent, node, 0, {}});
  for (const char* table : kTypeTables) {
    const auto types = graph.text->find(table);
    if (types == graph.text->end() || !types->is_object()) continue;
    for (const auto& [name, type] : types->items()) levels_.back().types[table][name] = &type;
  }
  const RecordedJson nodes = graph.at("nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto serial = static_cast<int>(nodes_.size());
    const RecordedJson recorded = nodes.at(i);
    nodes_.push_back({recorded, level, std::nullopt});
    const RecordedJson inputs = recorded.at("inputs");
    const auto region = transparent_region(recorded.read.at("target").string(), inputs.read);
    if (!region) continue;
    const RecordedJson called =
        inputs.at(region->first_operand - 1).at("arg").at("as_graph").at("graph");
    const int made = add_level(called, level, serial);
    levels_[static_cast<std::size_t>(made)].first_operand = region->first_operand;
    nodes_[static_cast<std::size_t>(serial)].graph = made;
  }
  return level;
}

bool RecordedProgram::inside(int level, int of) const {
  while (level != of && level >= 0) level = levels_[static_cast<std::size_t>(level)].parent;
  return level == of;
}

std::vector<std::string> result_names(const Json& outputs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Json output = outputs.at(i);
    const std::string kind = output.only_key();
    if (kind != "as_tensors") {
      names.push_back(result_name(output));
      continue;
    }
    const Json list = output.at(kind);
    for (std::size_t j = 0; j < list.size(); ++j) names.push_back(list.at(j).at("name").string());
  }
  return names;
}

std::vector<std::string*> operand_names(ordered_json& inputs) {
  std::vector<std::string*> names;
  for (ordered_json& input : inputs) collect_names(input.at("arg"), names);
  return names;
}

}  // namespace unfuse::pt2
