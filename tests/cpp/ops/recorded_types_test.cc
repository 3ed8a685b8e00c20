// Result-type rules against the types that torch.export recorded: every node of every model in
// tests/data whose op has a rule. UNFUSE_MODELS names another folder of models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "ops/catalogue.h"
#include "pt2/exported_program.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> model_paths() {
  const char* other = std::getenv("UNFUSE_MODELS");
  std::vector<std::string> paths;
  for (const auto& entry :
       fs::recursive_directory_iterator(other != nullptr ? other : UNFUSE_TEST_DATA)) {
    if (entry.path().extension() == ".pt2") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Values that the exporter could have seen, prime so that no two expressions agree by accident.
SymbolValues probe(const Graph& graph, std::int64_t at) {
  constexpr std::int64_t kPrimes[] = {7, 11, 13, 17, 19, 23};
  SymbolValues values;
  for (const auto& [name, range] : graph.symbols) {
    values[name] = std::clamp(kPrimes[(at + static_cast<std::int64_t>(values.size())) % 6],
                              range.minimum, range.maximum);
  }
  return values;
}

bool same_dims(const std::vector<Dim>& given, const std::vector<Dim>& recorded,
               const Graph& graph) {
  if (given.size() != recorded.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (std::int64_t at = 0; at < 3; ++at) {
      const SymbolValues values = probe(graph, at);
      if (given[i].evaluate(values) != recorded[i].evaluate(values)) return false;
    }
  }
  return true;
}

/// With strides of dimensions that are never stepped over taken from `like`.
std::vector<Dim> stepped_strides(const TensorType& type, const TensorType& like) {
  std::vector<Dim> strides = type.strides;
  for (std::size_t i = 0; i < strides.size() && i < like.strides.size(); ++i) {
    if (type.sizes[i] == Dim(1)) strides[i] = like.strides[i];
  }
  return strides;
}

std::string differing(const Node& node, const TensorType& given, const TensorType& recorded,
                      const Graph& graph) {
  if (given.dtype != recorded.dtype) return "dtype";
  if (!same_dims(given.sizes, recorded.sizes, graph)) return "sizes";
  const bool view = node.op().schema.aliases() && !node.op().schema.mutates();
  if (view && !same_dims(stepped_strides(given, recorded), recorded.strides, graph)) {
    return "strides";
  }
  return "";
}

std::string check(const Node& node, const Graph& graph) {
  std::vector<Type> types;
  try {
    types = node.op().result_types(node.arguments());
  } catch (const Error& error) {
    return error.what();
  }
  if (types.size() != node.results().size()) return "number of results";
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Value* result = node.result(static_cast<int>(i));
    if (!result->is_tensor()) continue;  // an unused result may be recorded as None
    const TensorType& given = std::get<TensorType>(types[i]);
    const std::string what = differing(node, given, result->tensor(), graph);
    if (!what.empty()) {
      return what + ": " + to_string(given) + " where torch.export recorded " +
             to_string(result->tensor());
    }
  }
  return "";
}

/// How many nodes of the model have a rule.
std::size_t check_model(const std::string& path, const std::string& model) {
  const pt2::ExportedProgram program = pt2::read(path, model);
  std::size_t checked = 0;
  for (const Node* node : program.graph.nodes()) {
    if (node->op().result_types == nullptr) continue;
    ++checked;
    EXPECT_EQ(check(*node, program.graph), "") << path << ": " << node->where();
  }
  return checked;
}

TEST(RecordedTypes, AreWhatTheRulesGive) {
  std::size_t models = 0;
  std::size_t checked = 0;
  for (const std::string& path : model_paths()) {
    for (const std::string& model : pt2::model_names(path)) {
      ++models;
      checked += check_model(path, model);
    }
  }
  EXPECT_GE(models, 1u);
  EXPECT_GE(checked, 5 * models);
  RecordProperty("models", static_cast<int>(models));
  RecordProperty("nodes", static_cast<int>(checked));
}

}  // namespace
}  // namespace unfuse
