// The end of writing a graph: its results, and what nobody uses any longer.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "pt2/level_export.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {

using nlohmann::ordered_json;

void LevelExporter::use(const ordered_json& argument) {
  ordered_json list = ordered_json::array();
  list.push_back({{"arg", argument}});
  for (const std::string* name : operand_names(list)) results_.push_back(*name);
}

Argument LevelExporter::recorded_result(const RecordedJson& recorded) {
  use(*recorded.text);
  return recorded_operand(recorded.read);
}

ordered_json LevelExporter::result(const Argument& value, const RecordedJson* recorded) {
  if (recorded != nullptr) {
    try {
      if (read_argument(recorded->read, names_.scope()).argument == value) {
        use(*recorded->text);
        return *recorded->text;
      }
    } catch (const Error&) {  // a name that is gone
    }
  }
  const NameSource names{[this](const Value* held) { return name_of_value(held); },
                         [this](const Dim& size) { return name_of_size(size); }};
  ordered_json argument = export_argument(value, nullptr, names);
  use(argument);
  return argument;
}

// Uses are counted by name; a node whose results had uses when it was recorded, and have none now,
// goes.
void LevelExporter::drop_unused_arithmetic() {
  std::unordered_map<std::string, int> uses;
  const auto count = [&](ordered_json& node, int by) {
    for (const std::string* name : operand_names(node.at("inputs"))) uses[*name] += by;
  };
  for (Written& written : written_) count(written.node, 1);
  for (const std::string& name : results_) ++uses[name];
  std::unordered_set<std::string> used_before;
  for (const RecordedNode& node : sources_.recorded->nodes()) {
    ordered_json inputs = node.json.text->at("inputs");
    for (const std::string* name : operand_names(inputs)) used_before.insert(*name);
  }
  for (const RecordedLevel& level : sources_.recorded->levels()) {
    for (const std::string& name : result_names(level.json.read.at("outputs"))) {
      used_before.insert(name);
    }
  }
  for (std::size_t i = written_.size(); i-- > 0;) {
    Written& written = written_[i];
    if (!written.arithmetic) continue;
    const auto names = result_names(recorded(written.recorded).json.read.at("outputs"));
    const bool drop = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return uses[name] == 0 && used_before.contains(name);
    });
    if (!drop) continue;
    count(written.node, -1);
    for (const std::string& name : names) {
      for (const char* table : kTypeTables) types_[table].erase(name);
    }
    written.node = nullptr;
  }
  std::erase_if(written_, [](const Written& written) { return written.node.is_null(); });
}

ordered_json LevelExporter::take() {
  drop_unused_arithmetic();
  ordered_json graph = *level_.json.text;
  ordered_json nodes = ordered_json::array();
  for (Written& written : written_) nodes.push_back(std::move(written.node));
  graph["nodes"] = std::move(nodes);
  for (const char* table : kTypeTables) {
    auto& types = types_[table];
    const auto recorded = level_.json.text->find(table);
    const bool listed = recorded != level_.json.text->end() && recorded->is_object();
    if (!listed && types.empty()) continue;
    ordered_json written = ordered_json::object();
    // Not by key: this kind of object searches for one from its beginning.
    auto& members = written.get_ref<ordered_json::object_t&>();
    if (listed) {
      for (const auto& [name, type] : recorded->items()) {
        const auto found = types.find(name);
        if (found == types.end()) continue;
        members.emplace_back(name, std::move(found->second));
        types.erase(found);
      }
    }
    for (auto& [name, type] : types) members.emplace_back(name, std::move(type));
    graph[table] = std::move(written);
  }
  return graph;
}

}  // namespace unfuse::pt2
