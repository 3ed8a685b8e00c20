// Every result-type rule against what PyTorch gave for random calls (tests/data/op_types.jsonl,
// made by make_op_types.py beside it). UNFUSE_OP_TYPES names another file of such calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ir/builder.h"
#include "ops/catalogue.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

using Json = nlohmann::json;

std::vector<Dim> dims_of(const Json& list) {
  std::vector<Dim> dims;
  for (const Json& size : list) dims.emplace_back(size.get<std::int64_t>());
  return dims;
}

TensorType type_of(const Json& json) {
  TensorType type;
  type.dtype = dtype_from_name(json.at("tensor").get<std::string>()).value();
  type.sizes = dims_of(json.at("sizes"));
  type.strides = dims_of(json.at("strides"));
  type.storage_offset = json.at("offset").get<std::int64_t>();
  return type;
}

Value* add_input(Graph& graph, const Json& json) {
  return graph.add_input("x", type_of(json), GraphInput{});
}

MemoryFormat format_of(const std::string& name) {
  for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kPreserve,
                                    MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d}) {
    if (memory_format_name(format) == name) return format;
  }
  throw Error(ErrorKind::kInternal, "no memory format is named " + name);
}

Argument list_of(Graph& graph, const Json& list) {
  const bool tensors = std::any_of(list.begin(), list.end(), [](const Json& element) {
    return element.is_object() || element.is_null();
  });
  if (!tensors) return Argument(dims_of(list));
  Argument::Tensors values;
  for (const Json& element : list) {
    values.push_back(element.is_null() ? nullptr : add_input(graph, element));
  }
  return values;
}

Argument argument_of(Graph& graph, const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) return list_of(graph, json);
  if (json.contains("tensor")) return add_input(graph, json);
  if (json.contains("dtype")) return dtype_from_name(json["dtype"].get<std::string>()).value();
  if (json.contains("device")) return Device{json["device"].get<std::string>()};
  return format_of(json.at("format").get<std::string>());
}

/// Whether the rule says dense strides where eager lays the result out by the kernel that it picked
/// or, for what copies a whole base, with the base's gaps.
bool strides_are_free(const std::string& op) {
  static const std::set<std::string> kFree = {
      "aten._unsafe_index.Tensor",   "aten.constant_pad_nd.default",
      "aten.copy.default",           "aten.diagonal_scatter.default",
      "aten.index.Tensor",           "aten.pad.default",
      "aten.select_scatter.default", "aten.scaled_dot_product_attention.default",
      "aten.slice_scatter.default",
  };
  return kFree.contains(op);
}

/// Strides of dimensions that are never stepped over do not matter.
std::string differing(const TensorType& given, const TensorType& wanted, bool strides) {
  if (given.dtype != wanted.dtype) return "dtype";
  if (given.sizes != wanted.sizes) return "sizes";
  if (!strides || wanted.numel() == Dim(0)) return "";
  for (std::size_t i = 0; i < wanted.sizes.size(); ++i) {
    if (wanted.sizes[i] != Dim(1) && given.strides[i] != wanted.strides[i]) return "strides";
  }
  return given.storage_offset != wanted.storage_offset ? "storage offset" : "";
}

std::string compare(const Node& node, const Json& call) {
  const Json& results = call.at("results");
  if (results.size() != node.results().size()) return "number of results";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorType wanted = type_of(results[i]);
    const TensorType& given = node.result(static_cast<int>(i))->tensor();
    const std::string what = differing(given, wanted, !strides_are_free(node.op().name));
    if (!what.empty()) {
      return what + ": " + to_string(given) + " where torch gives " + to_string(wanted);
    }
  }
  return "";
}

/// Empty when the rule agrees with PyTorch, else how it differs.
std::string check(const Json& call) {
  Graph graph;
  Arguments arguments;
  for (const Json& json : call.at("arguments")) arguments.push_back(argument_of(graph, json));
  std::vector<KeywordArgument> keywords;
  for (const auto& [name, json] : call.at("keywords").items()) {
    keywords.push_back({name, argument_of(graph, json)});
  }
  Builder builder(graph, nullptr);
  try {
    return compare(*builder.node(ops::get(call.at("op").get<std::string>()), arguments, keywords),
                   call);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string calls_path() {
  const char* other = std::getenv("UNFUSE_OP_TYPES");
  return other != nullptr ? other : UNFUSE_TEST_DATA "/op_types.jsonl";
}

TEST(ResultTypes, AreThoseOfPyTorch) {
  std::ifstream file(calls_path());
  ASSERT_TRUE(file) << calls_path();
  std::set<std::string> ops;
  std::string line;
  while (std::getline(file, line)) {
    const Json call = Json::parse(line);
    ops.insert(call.at("op").get<std::string>());
    const std::string difference = check(call);
    EXPECT_EQ(difference, "") << line;
  }
  for (const Op& op : ops::catalogue()) {
    const bool ours = op.name.starts_with("unfuse.");
    if (op.result_types == nullptr || ours) continue;
    EXPECT_TRUE(ops.contains(op.name)) << op.name << " has a rule, but no call in the file";
  }
}

}  // namespace
}  // namespace unfuse
