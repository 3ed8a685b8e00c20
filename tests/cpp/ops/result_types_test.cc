// Every result-type rule against what PyTorch gave for random calls (tests/data/op_types.jsonl,
// made by make_op_types.py beside it). UNFUSE_OP_TYPES names another file of such calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
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

/// 3 -> "s3"; sizes 0 and 1 stay, as exporters leave them.
Dim symbol_of(const Dim& size) {
  if (size == Dim(0) || size == Dim(1)) return size;
  std::string name = size.to_string();
  name.insert(name.begin(), 's');
  return Dim::symbol(name);
}

/// The same type over symbols; empty for a tensor with gaps, whose strides no symbols explain.
std::optional<TensorType> symbolic(const TensorType& type) {
  std::vector<std::size_t> order(type.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return *type.strides[left].constant() > *type.strides[right].constant();
  });
  TensorType result = type;
  Dim concrete = 1;
  Dim stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t at = order[i];
    if (type.sizes[at] != Dim(1) && type.strides[at] != concrete) return std::nullopt;
    result.sizes[at] = symbol_of(type.sizes[at]);
    result.strides[at] = type.sizes[at] == Dim(1) ? type.strides[at] : stride;
    if (type.sizes[at] == Dim(0)) continue;
    concrete *= type.sizes[at];
    stride *= result.sizes[at];
  }
  return result;
}

/// Thrown by a reader that was asked for symbols that there are none for.
struct NotSymbolic {};

/// Reads a call's arguments into a graph, over symbols when asked.
struct Reader {
  Graph graph;
  bool over_symbols = false;

  Value* add_input(const Json& json) {
    TensorType type = type_of(json);
    if (over_symbols) {
      std::optional<TensorType> found = symbolic(type);
      if (!found) throw NotSymbolic();
      type = *found;
    }
    return graph.add_input("x", type, GraphInput{});
  }
  Argument list_of(const Json& list);
  Argument argument_of(const Json& json);
};

MemoryFormat format_of(const std::string& name) {
  for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kPreserve,
                                    MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d}) {
    if (memory_format_name(format) == name) return format;
  }
  throw Error(ErrorKind::kInternal, "no memory format is named " + name);
}

Argument Reader::list_of(const Json& list) {
  const bool tensors = std::any_of(list.begin(), list.end(), [](const Json& element) {
    return element.is_object() || element.is_null();
  });
  if (!tensors) return Argument(dims_of(list));
  Argument::Tensors values;
  for (const Json& element : list) {
    values.push_back(element.is_null() ? nullptr : add_input(element));
  }
  return values;
}

Argument Reader::argument_of(const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) return list_of(json);
  if (json.contains("tensor")) return add_input(json);
  if (json.contains("dtype")) return dtype_from_name(json["dtype"].get<std::string>()).value();
  if (json.contains("device")) return Device{json["device"].get<std::string>()};
  return format_of(json.at("format").get<std::string>());
}

/// Whether the rule says dense strides where eager lays the result out by the kernel that it picked
/// or, for what copies a whole base, with the base's gaps.
bool strides_are_free(const std::string& op) {
  static const std::set<std::string> free = {
      "aten._unsafe_index.Tensor",   "aten.constant_pad_nd.default",
      "aten.copy.default",           "aten.diagonal_scatter.default",
      "aten.index.Tensor",           "aten.pad.default",
      "aten.select_scatter.default", "aten.scaled_dot_product_attention.default",
      "aten.slice_scatter.default",
  };
  return free.contains(op);
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

/// The node that a call makes. Throws Error when the rule refuses it.
const Node* build(Reader& reader, const Json& call) {
  Arguments arguments;
  for (const Json& json : call.at("arguments")) arguments.push_back(reader.argument_of(json));
  std::vector<KeywordArgument> keywords;
  for (const auto& [name, json] : call.at("keywords").items()) {
    keywords.push_back({name, reader.argument_of(json)});
  }
  Builder builder(reader.graph, nullptr);
  return builder.node(ops::get(call.at("op").get<std::string>()), arguments, keywords);
}

TensorType evaluated(const TensorType& type) {
  std::vector<std::string> names;
  for (const Dim& size : type.sizes) size.collect_symbols(names);
  for (const Dim& stride : type.strides) stride.collect_symbols(names);
  type.storage_offset.collect_symbols(names);
  SymbolValues values;
  for (const std::string& name : names) values[name] = std::stoll(name.substr(1));
  TensorType result = type;
  for (Dim& size : result.sizes) size = size.evaluate(values);
  for (Dim& stride : result.strides) stride = stride.evaluate(values);
  result.storage_offset = type.storage_offset.evaluate(values);
  return result;
}

/// Empty when the node has the types that PyTorch gave, else how they differ.
std::string compare(const Node& node, const Json& call) {
  const Json& results = call.at("results");
  if (results.size() != node.results().size()) return "number of results";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorType wanted = type_of(results[i]);
    const TensorType& given = node.result(static_cast<int>(i))->tensor();
    const std::string what = differing(evaluated(given), wanted, !strides_are_free(node.op().name));
    if (!what.empty()) {
      return what + ": " + to_string(given) + " where torch gives " + to_string(wanted);
    }
  }
  return "";
}

std::string check(const Json& call) {
  Reader reader;
  try {
    return compare(*build(reader, call), call);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string calls_path() {
  const char* other = std::getenv("UNFUSE_OP_TYPES");
  return other != nullptr ? other : UNFUSE_TEST_DATA "/op_types.jsonl";
}

std::vector<Json> read_calls() {
  std::ifstream file(calls_path());
  std::vector<Json> calls;
  std::string line;
  while (std::getline(file, line)) calls.push_back(Json::parse(line));
  return calls;
}

TEST(ResultTypes, AreThoseOfPyTorch) {
  std::set<std::string> ops;
  for (const Json& call : read_calls()) {
    ops.insert(call.at("op").get<std::string>());
    EXPECT_EQ(check(call), "") << call;
  }
  for (const Op& op : ops::catalogue()) {
    const bool ours = op.name.starts_with("unfuse.");
    if (op.result_types == nullptr || ours) continue;
    EXPECT_TRUE(ops.contains(op.name)) << op.name << " has a rule, but no call in the file";
  }
}

/// Layouts that follow from comparing strides, which symbols may not tell: a pointwise result's
/// order of dimensions, and whether reshape views or copies.
bool layout_may_be_unknown(const Op& op) { return op.traits.pointwise || op.traits.maybe_view; }

// Over symbols a rule may refuse what it cannot tell, but must not say anything else than it says
// over their values.
TEST(ResultTypes, OfSymbolicSizesEvaluateToThoseOfPyTorch) {
  std::size_t calls = 0;
  std::size_t refused = 0;
  for (const Json& call : read_calls()) {
    Reader reader;
    reader.over_symbols = true;
    try {
      const Node* node = build(reader, call);
      const std::string difference = compare(*node, call);
      ++calls;
      if (difference.starts_with("strides") && layout_may_be_unknown(node->op())) {
        ++refused;
        continue;
      }
      EXPECT_EQ(difference, "") << call;
    } catch (const NotSymbolic&) {
      continue;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(calls, 20 * refused) << calls << " calls, " << refused << " refused";
}

}  // namespace
}  // namespace unfuse
