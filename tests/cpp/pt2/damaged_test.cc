// Files that must be refused: each with an error that names the file and the cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "pt2/archive.h"
#include "pt2/exported_program.h"
#include "support/archives/archive_editor.h"
#include "unfuse/error.h"

// GCC 12 sees overlapping copies in "text" + std::string where there are none (PR 105651).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"
#endif

namespace unfuse::pt2 {
namespace {

using nlohmann::json;
using testing::HasSubstr;

void expect_refused_path(const std::string& path, ErrorKind kind, const std::string& cause) {
  try {
    read(path);
    FAIL() << "read without an error, but wanted: " << cause;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.where(), path);
    EXPECT_THAT(std::string(error.what()), HasSubstr(cause));
    EXPECT_FALSE(error.hint().empty());
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

void expect_refused(const std::string& bytes, const std::string& cause) {
  const TemporaryFile file(bytes);
  expect_refused_path(file.path(), ErrorKind::kInvalidFile, cause);
}

void expect_refused(const ArchiveEditor& editor, const std::string& cause) {
  expect_refused(editor.bytes(), cause);
}

using Edit = std::function<void(json&)>;

void expect_model_refused(const std::string& file, const std::string& cause, const Edit& edit) {
  ArchiveEditor editor(file);
  editor.edit_model(edit);
  expect_refused(editor, cause);
}

void expect_weights_refused(const std::string& cause, const Edit& edit) {
  ArchiveEditor editor("reader/weights.pt2");
  editor.edit_json("data/weights/model_weights_config.json",
                   [&](json& config) { edit(config["config"]); });
  expect_refused(editor, cause);
}

json& graph_of(json& model) { return model["graph_module"]["graph"]; }
json& node_of(json& model, int index) { return graph_of(model)["nodes"].at(index); }
json& spec_of(json& model, const char* list, int index) {
  return model["graph_module"]["signature"][list].at(index);
}

json tensor_argument(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }
json expression(const std::string& text) {
  return {{"as_expr", {{"expr_str", text}, {"hint", nullptr}}}};
}

// --- The file

TEST(Damaged, NoSuchFile) {
  expect_refused_path("/no/such/model.pt2", ErrorKind::kInvalidArgument, "no such file");
  expect_refused_path(data_path("arithmetic.pt2") + "/model.pt2", ErrorKind::kInvalidArgument,
                      "no such file");
}

TEST(Damaged, ADirectory) {
  expect_refused_path(UNFUSE_TEST_DATA, ErrorKind::kInvalidArgument, "is a directory");
}

TEST(Damaged, ADevice) {
  expect_refused_path("/dev/null", ErrorKind::kInvalidArgument, "is not a file");
}

TEST(Damaged, AnEmptyFile) { expect_refused(std::string(), "the file is empty"); }

TEST(Damaged, NotAZipFile) {
  expect_refused(std::string("{}"), "not a zip file");
  expect_refused(std::string(100000, 'x'), "not a zip file");
}

TEST(Damaged, TruncatedAnywhere) {
  const std::string whole = file_bytes("reader/nested.pt2");
  for (std::size_t length = 4; length < whole.size(); length += 97) {
    SCOPED_TRACE(length);
    expect_refused(whole.substr(0, length), "truncated");
  }
}

TEST(Damaged, TheBeginningIsMissing) {
  const std::string whole = file_bytes("reader/nested.pt2");
  const TemporaryFile file(whole.substr(whole.size() / 2));
  EXPECT_THROW(read(file.path()), Error);
}

TEST(Damaged, AnEmptyZipFile) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.members().clear();
  expect_refused(editor, "without the member 'archive_format'");
}

TEST(Damaged, AMemberIsMissing) {
  for (const char* name : {"archive_format", "byteorder", "data/weights/model_weights_config.json",
                           "data/constants/model_constants_config.json", "data/weights/weight_2"}) {
    ArchiveEditor editor("reader/nested.pt2");
    editor.remove(name);
    expect_refused(editor, name);
  }
  ArchiveEditor editor("reader/nested.pt2");
  editor.remove("models/model.json");
  expect_refused(editor, "holds no exported program");
}

TEST(Damaged, AMemberTwice) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.add("byteorder", "little");
  expect_refused(editor, "member 'byteorder' occurs twice");
}

TEST(Damaged, AMemberOutsideTheArchive) {
  for (const char* name : {"../evil", "/etc/passwd", "nested/../../evil", "nested\\..\\evil",
                           "nested//evil", "nested/./evil"}) {
    ArchiveEditor editor("reader/nested.pt2");
    editor.members().push_back({name, "x"});
    expect_refused(editor, "leads outside the archive");
  }
  ArchiveEditor editor("reader/nested.pt2");
  editor.members().push_back({"elsewhere/member", "x"});
  expect_refused(editor, "lies outside the archive's directory");
}

TEST(Damaged, ACompressedMember) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.member("models/model.json").method = 8;
  expect_refused(editor, "member 'models/model.json' is compressed");
  editor = ArchiveEditor("reader/nested.pt2");
  editor.member("data/weights/weight_0").method = 8;
  expect_refused(editor, "member 'data/weights/weight_0' is compressed");
  editor = ArchiveEditor("reader/nested.pt2");
  editor.member("models/model.json").flags = 1;
  expect_refused(editor, "compressed or encrypted");
}

TEST(Damaged, BigEndian) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.member("byteorder").bytes = "big";
  expect_refused(editor, "big-endian byte order");
  editor.member("byteorder").bytes = "middle";
  expect_refused(editor, "unknown byte order 'middle'");
}

TEST(Damaged, AnotherArchiveFormat) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.member("archive_format").bytes = "pt3";
  expect_refused(editor, "archive format 'pt3'");
}

TEST(Damaged, AChecksumThatDoesNotFit) {
  ArchiveEditor editor("reader/nested.pt2");
  std::string bytes = editor.bytes();
  const std::size_t place = bytes.find("\"graph_module\"");
  ASSERT_NE(place, std::string::npos);
  bytes[place + 1] = 'G';
  expect_refused(bytes, "member 'models/model.json' does not match its checksum");
}

TEST(Damaged, OverlappingMembers) {
  ArchiveEditor editor("reader/nested.pt2");
  const int first = static_cast<int>(editor.members().size());
  const std::string data(50000, 'x');
  for (int i = 0; i < 10; ++i) {
    editor.members().push_back({editor.root() + "data/weights/weight_1" + std::to_string(i), data,
                                0, 0, i == 0 ? -1 : first});
  }
  expect_refused(editor, "members overlap");
}

TEST(Damaged, OffsetsAndSizesInTheDirectoryThatOverflow) {
  const std::string whole = ArchiveEditor("reader/nested.pt2").bytes();
  std::size_t entry = directory_offset(whole) - 1;
  int count = 0;
  while ((entry = whole.find("PK\x01\x02", entry + 1)) != std::string::npos) {
    // Fields of a directory entry: compressed size, size, offset of the local header.
    for (const std::size_t field : {20U, 24U, 42U}) {
      for (const char* value : {"\xff\xff\xff\x7f", "\xfe\xff\xff\xff", "\xff\xff\xff\xff"}) {
        std::string bytes = whole;
        bytes.replace(entry + field, 4, value, 4);
        const TemporaryFile file(bytes);
        EXPECT_THROW(read(file.path()), Error) << "field " << field;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 50);
}

TEST(Damaged, AFileOfTorchSave) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.remove("archive_format");
  editor.add("data.pkl", "pickle");
  expect_refused(editor, "a file of torch.save");
}

TEST(Damaged, ArchivesOfOlderTorch) {
  // Torch 2.7 and 2.8: weights in one pickle.
  ArchiveEditor editor("reader/nested.pt2");
  editor.remove("data/weights/model_weights_config.json");
  editor.add("data/weights/model.pt", "pickle");
  expect_refused(editor, "save it again with torch 2.9 or newer");
  // Torch 2.6 and older: members without a directory.
  ArchiveEditor older("reader/nested.pt2");
  older.members().clear();
  older.members().push_back({"version", "8.5"});
  older.members().push_back({"serialized_exported_program.json", "{}"});
  older.members().push_back({"serialized_state_dict.pt", "pickle"});
  expect_refused(older, "torch 2.6 or older");
}

TEST(Damaged, SeveralModels) {
  const std::string path = data_path("reader/several.pt2");
  expect_refused_path(path, ErrorKind::kInvalidArgument, "holds several models: 'thrice', 'twice'");
  try {
    read(path, "fourth");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(std::string(error.what()), HasSubstr("holds no model 'fourth'"));
    EXPECT_THAT(error.hint(), HasSubstr("'twice'"));
  }
}

// --- JSON

TEST(Damaged, JsonThatIsNone) {
  for (const std::string text : {"", "{", "nothing", "\"\xff\xff\"", "{\"a\":1}}"}) {
    ArchiveEditor editor("reader/nested.pt2");
    editor.member("models/model.json").bytes = text;
    expect_refused(editor, "'models/model.json' is not JSON");
  }
}

TEST(Damaged, JsonOfTheWrongShape) {
  for (const std::string text : {"[]", "1", "null", "\"text\"", "{}", "{\"schema_version\": 8}"}) {
    ArchiveEditor editor("reader/nested.pt2");
    editor.member("models/model.json").bytes = text;
    expect_refused(editor, "'models/model.json' at ");
  }
  expect_model_refused("reader/nested.pt2",
                       "at graph_module.graph.nodes[1].target: expected a string, found a value "
                       "of type number",
                       [](json& model) { node_of(model, 1)["target"] = 3; });
  expect_model_refused("reader/nested.pt2", "graph_module.graph: 'tensor_values' is missing",
                       [](json& model) { graph_of(model).erase("tensor_values"); });
}

TEST(Damaged, JsonNestedTooDeep) {
  ArchiveEditor editor("reader/nested.pt2");
  const std::size_t depth = 1000000;
  editor.member("models/model.json").bytes = std::string(depth, '[') + std::string(depth, ']');
  expect_refused(editor, "nested too deep");
  editor.member("models/model.json").bytes = std::string(depth, '[');
  expect_refused(editor, "nested too deep");
  // Brackets in strings do not nest.
  editor = ArchiveEditor("reader/nested.pt2");
  editor.edit_model([](json& model) {
    node_of(model, 0)["metadata"]["stack_trace"] = "\"\\" + std::string(1000, '[');
  });
  const TemporaryFile file(editor.bytes());
  EXPECT_NO_THROW(read(file.path()));
}

TEST(Damaged, SchemaVersions) {
  const auto set = [](int major) {
    return [major](json& model) { model["schema_version"]["major"] = major; };
  };
  expect_model_refused("reader/nested.pt2", "schema version 9.20, newer than this build reads",
                       set(9));
  expect_model_refused("reader/nested.pt2", "schema version 7.20, older than this build reads",
                       set(7));
  // A newer file may differ anywhere: its version is what the error is about.
  expect_model_refused("reader/nested.pt2", "newer than this build reads", [](json& model) {
    model = {{"schema_version", {{"major", 9}, {"minor", 0}}}};
  });
}

// --- Weights

TEST(Damaged, WeightsShorterThanTheirType) {
  ArchiveEditor editor("reader/weights.pt2");
  editor.member("data/weights/weight_0").bytes.resize(92);
  expect_refused(editor, "needs 96 bytes, but member 'data/weights/weight_0' holds 92");
  editor.member("data/weights/weight_0").bytes.clear();
  expect_refused(editor, "is empty");
}

TEST(Damaged, LongerWeightsAreFine) {
  ArchiveEditor editor("reader/weights.pt2");
  editor.member("data/weights/weight_0").bytes += std::string(1000, 'x');
  const TemporaryFile file(editor.bytes());
  EXPECT_NO_THROW(read(file.path()));
}

TEST(Damaged, WeightTypesThatOverflow) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const auto set = [](const char* key, json value) {
    return [key, value](json& config) { config["sliced"]["tensor_meta"][key] = value; };
  };
  const auto integer = [](std::int64_t value) { return json{{"as_int", value}}; };
  expect_weights_refused("overflow", set("strides", {integer(huge)}));
  expect_weights_refused("overflow", set("strides", {integer(huge / 3)}));
  expect_weights_refused("overflow", set("storage_offset", integer(huge)));
  expect_weights_refused("needs", set("storage_offset", integer(huge / 16)));
  expect_weights_refused("negative", set("strides", {integer(-3)}));
  expect_weights_refused("negative", set("storage_offset", integer(-1)));
  expect_weights_refused("overflow", set("sizes", {integer(huge)}));
  expect_weights_refused("negative", set("sizes", {integer(-4)}));
  expect_weights_refused("as many strides as sizes", set("sizes", json::array()));
  expect_weights_refused("does not fit 64 bits",
                         set("sizes", {{{"as_int", 18446744073709551615ULL}}}));
}

TEST(Damaged, WeightTypesThatDoNotFitTheGraph) {
  expect_weights_refused("'sliced' is stored as f64[4]",
                         [](json& config) { config["sliced"]["tensor_meta"]["dtype"] = 8; });
  expect_weights_refused("'sliced' is stored as f32[5]", [](json& config) {
    config["sliced"]["tensor_meta"]["sizes"] = {{{"as_int", 5}}};
  });
  expect_weights_refused("unknown element type 77",
                         [](json& config) { config["sliced"]["tensor_meta"]["dtype"] = 77; });
  expect_weights_refused("only strided tensors can be read",
                         [](json& config) { config["sliced"]["tensor_meta"]["layout"] = 1; });
  expect_weights_refused("the symbol s0 is defined nowhere", [](json& config) {
    config["sliced"]["tensor_meta"]["sizes"] = {expression("Symbol('s0')")};
  });
}

TEST(Damaged, WeightsThatAreMissing) {
  expect_weights_refused("the tensor 'sliced' is missing",
                         [](json& config) { config.erase("sliced"); });
  expect_weights_refused("member 'data/weights/weight_99' is missing",
                         [](json& config) { config["sliced"]["path_name"] = "weight_99"; });
}

TEST(Damaged, WeightsOutsideTheArchive) {
  for (const char* name : {"../constants/tensor_0", "/etc/passwd", "..", ""}) {
    expect_weights_refused("leads outside the archive",
                           [&](json& config) { config["sliced"]["path_name"] = name; });
  }
}

TEST(Damaged, PickledWeights) {
  expect_weights_refused("'sliced' is stored as a pickled object, which is never read",
                         [](json& config) { config["sliced"]["use_pickle"] = true; });
  ArchiveEditor editor("reader/weights.pt2");
  editor.edit_json("data/constants/model_constants_config.json", [](json& config) {
    config["config"]["lifted_tensor_0"] = {{"path_name", "opaque_obj_0"},
                                           {"is_param", false},
                                           {"use_pickle", true},
                                           {"tensor_meta", nullptr}};
  });
  expect_refused(editor, "'lifted_tensor_0' is stored as a pickled object");
}

// --- The graph

TEST(Damaged, ValuesThatAreUndefined) {
  expect_model_refused(
      "reader/nested.pt2", "the value 'nowhere' is used before it is defined",
      [](json& model) { node_of(model, 3)["inputs"][0]["arg"] = tensor_argument("nowhere"); });
  expect_model_refused("reader/nested.pt2", "graph_module.graph.outputs[0]",
                       [](json& model) { graph_of(model)["outputs"][0] = tensor_argument("no"); });
}

TEST(Damaged, ValuesThatAreCyclic) {
  expect_model_refused(
      "reader/nested.pt2", "the value 'relu_2' is used before it is defined",
      [](json& model) { node_of(model, 0)["inputs"][0]["arg"] = tensor_argument("relu_2"); });
  expect_model_refused(
      "reader/nested.pt2", "the value 'linear' is used before it is defined",
      [](json& model) { node_of(model, 0)["inputs"][0]["arg"] = tensor_argument("linear"); });
}

TEST(Damaged, ValuesThatAreDefinedTwice) {
  expect_model_refused("reader/nested.pt2", "the value 'linear' is defined twice", [](json& model) {
    node_of(model, 1)["outputs"][0] = tensor_argument("linear");
  });
  expect_model_refused("reader/nested.pt2", "the value 'x' is defined twice",
                       [](json& model) { node_of(model, 1)["outputs"][0] = tensor_argument("x"); });
  expect_model_refused("reader/nested.pt2", "the value 'x' is defined twice", [](json& model) {
    graph_of(model)["inputs"].push_back(tensor_argument("x"));
    auto& specs = model["graph_module"]["signature"]["input_specs"];
    specs.push_back(specs.back());
  });
}

TEST(Damaged, ArgumentsThatDoNotFitTheSchema) {
  const auto refuse = [](const std::string& cause, const std::function<void(json&)>& edit) {
    expect_model_refused("reader/nested.pt2", cause,
                         [&](json& model) { edit(node_of(model, 0)["inputs"]); });
  };
  refuse("do not fit aten.linear.default at layers.0.proj (make_reader_files.py:",
         [](json& inputs) {
           inputs[1]["arg"] = {{"as_string", "weight"}};
         });
  refuse("has no argument \"invented\"", [](json& inputs) { inputs[1]["name"] = "invented"; });
  refuse("argument \"weight\" is missing", [](json& inputs) { inputs.erase(1); });
  refuse("argument \"input\" is given twice", [](json& inputs) { inputs[1]["name"] = "input"; });
  refuse("argument \"input\" is 3", [](json& inputs) { inputs[0]["arg"] = {{"as_int", 3}}; });
  refuse("argument \"input\" is None", [](json& inputs) {
    inputs[0]["arg"] = {{"as_none", true}};
  });
  refuse("unknown kind of argument 'as_invented'", [](json& inputs) {
    inputs[0]["arg"] = {{"as_invented", 1}};
  });
  refuse("expected an object with one key",
         [](json& inputs) { inputs[0]["arg"] = json::object(); });
}

TEST(Damaged, ResultsThatDoNotFitTheSchema) {
  const auto set = [](const json& outputs) {
    return [outputs](json& model) { node_of(model, 0)["outputs"] = outputs; };
  };
  expect_model_refused("reader/nested.pt2", "the results do not fit aten.linear.default",
                       set(json::array()));
  expect_model_refused("reader/nested.pt2", "the results do not fit aten.linear.default",
                       set({{{"as_tensors", {{{"name", "linear"}}}}}}));
  expect_model_refused("reader/nested.pt2", "'invented' is missing",
                       set(json::array({tensor_argument("invented")})));
}

TEST(Damaged, SizesOfValues) {
  const auto set = [](const char* key, const json& value) {
    return [key, value](json& model) { graph_of(model)["tensor_values"]["linear"][key] = value; };
  };
  const auto sizes = [](const json& first) { return json{first, {{"as_int", 4}}}; };
  const auto refuse = [&](const std::string& cause, const json& first) {
    expect_model_refused("reader/nested.pt2", cause, set("sizes", sizes(first)));
  };
  refuse("negative: -2", {{"as_int", -2}});
  refuse("overflow", {{"as_int", std::numeric_limits<std::int64_t>::max()}});
  refuse("the symbol s9 is defined nowhere", expression("Symbol('s9', integer=True)"));
  refuse("a symbolic expression cannot be read", expression("Symbol('s9'"));
  refuse("a symbolic expression cannot be read", expression("__import__('os').system('true')"));
  refuse("divided by zero", expression("FloorDiv(Integer(4), Integer(0))"));
  refuse("expected as_int or as_expr", {{"as_float", 2.0}});
  expect_model_refused("reader/nested.pt2", "unknown element type", set("dtype", 100));
  expect_model_refused("reader/nested.pt2", "more than 64 dimensions",
                       set("sizes", json(65, {{"as_int", 1}})));
}

TEST(Damaged, TypesThatContradictTheOp) {
  const auto set = [](const char* key, const json& value) {
    return [key, value](json& model) { graph_of(model)["tensor_values"]["relu"][key] = value; };
  };
  expect_model_refused("reader/nested.pt2", "its result is f64[2, 4] where the op gives f32[2, 4]",
                       set("dtype", 8));
  expect_model_refused("reader/nested.pt2", "f32[2, 5] strides [4, 1] where the op gives f32[2, 4]",
                       set("sizes", {{{"as_int", 2}}, {{"as_int", 5}}}));
  expect_model_refused("reader/nested.pt2", "the call is impossible", [](json& model) {
    node_of(model, 0)["inputs"][1]["arg"] = tensor_argument("p_layers_0_proj_bias");
    node_of(model, 0)["inputs"][2]["arg"] = tensor_argument("p_layers_0_proj_weight");
  });
}

TEST(Damaged, SizesThatExplodeWhenMultipliedOut) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.edit_model([](json& model) {
    json sizes = json::array();
    json strides = json::array();
    for (int i = 0; i < 60; ++i) {
      const std::string symbol = "s" + std::to_string(i);
      model["range_constraints"][symbol] = {{"min_val", 2}, {"max_val", nullptr}};
      sizes.push_back(expression("Add(Symbol('" + symbol + "'), Integer(1))"));
      strides.push_back({{"as_int", 1}});
    }
    graph_of(model)["tensor_values"]["linear"]["sizes"] = sizes;
    graph_of(model)["tensor_values"]["linear"]["strides"] = strides;
  });
  expect_refused(editor, "the sizes are too complicated");
}

TEST(Damaged, Ranges) {
  const auto set = [](const json& range) {
    return [range](json& model) { model["range_constraints"].begin().value() = range; };
  };
  expect_model_refused("reader/bounded.pt2", "the range of", set({{"min_val", 5}, {"max_val", 4}}));
  expect_model_refused("reader/bounded.pt2", "expected an integer",
                       set({{"min_val", "5"}, {"max_val", 4}}));
}

// --- The signature

TEST(Damaged, SignaturesThatDoNotFitTheGraph) {
  expect_model_refused(
      "reader/nested.pt2", "the signature lists 4 inputs, the graph has 5",
      [](json& model) { model["graph_module"]["signature"]["input_specs"].erase(0); });
  expect_model_refused(
      "reader/nested.pt2", "the signature lists 0 outputs, the graph has 1",
      [](json& model) { model["graph_module"]["signature"]["output_specs"] = json::array(); });
  expect_model_refused(
      "reader/nested.pt2", "the signature names 'other' where the graph has",
      [](json& model) { spec_of(model, "input_specs", 0)["parameter"]["arg"]["name"] = "other"; });
  expect_model_refused("reader/nested.pt2", "unknown kind of input 'invented'", [](json& model) {
    json spec = spec_of(model, "input_specs", 0)["parameter"];
    spec_of(model, "input_specs", 0) = {{"invented", spec}};
  });
  expect_model_refused(
      "reader/mutations.pt2", "'nothing' is mutated, but is no input", [](json& model) {
        spec_of(model, "output_specs", 0)["buffer_mutation"]["buffer_name"] = "nothing";
      });
  expect_model_refused("reader/mutations.pt2", "a mutation writes a tensor", [](json& model) {
    graph_of(model)["outputs"][0] = {{"as_int", 1}};
  });
  expect_model_refused(
      "reader/signature.pt2", "the call's in_spec cannot be read", [](json& model) {
        model["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = "[2, {}]";
      });
}

TEST(Damaged, GradientsAreNotComputed) {
  expect_model_refused("reader/nested.pt2", "the program computes gradients", [](json& model) {
    json spec = spec_of(model, "output_specs", 0)["user_output"];
    spec["parameter_name"] = "layers.0.proj.weight";
    spec_of(model, "output_specs", 0) = {{"gradient_to_parameter", spec}};
  });
}

}  // namespace
}  // namespace unfuse::pt2
