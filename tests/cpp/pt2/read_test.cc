// What reading gives for archives that torch wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "ir/print.h"
#include "ir/verify.h"
#include "pt2/call_signature.h"
#include "pt2/exported_program.h"
#include "support/archives/archive_editor.h"

namespace unfuse::pt2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ExportedProgram read_data(const std::string& name) { return read(data_path(name)); }

const GraphInput& input_named(const Graph& graph, std::string_view target) {
  for (const GraphInput& input : graph.inputs()) {
    if (input.target == target) return input;
  }
  throw std::runtime_error("no input " + std::string(target));
}

Node* only_node(const Graph& graph, const std::string& op_name) {
  Node* found = nullptr;
  for (Node* node : graph.nodes()) {
    if (!node->is(op_name)) continue;
    if (found != nullptr) throw std::runtime_error("several " + op_name);
    found = node;
  }
  if (found == nullptr) throw std::runtime_error("no " + op_name);
  return found;
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) names.push_back(node->op().name);
  return names;
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  std::vector<T> values;
  std::vector<std::int64_t> index(tensor.sizes().size(), 0);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides()[d];
    values.push_back(tensor.data_as<T>()[offset]);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return values;
}

TEST(Read, EveryModelOfTheTree) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(UNFUSE_TEST_DATA)) {
    if (entry.path().extension() != ".pt2") continue;
    for (const std::string& name : model_names(entry.path().string())) {
      SCOPED_TRACE(entry.path().string() + " " + name);
      const ExportedProgram program = read(entry.path().string(), name);
      verify(program.graph);
      EXPECT_FALSE(print(program.graph).empty());
      EXPECT_THAT(program.torch_version, HasSubstr("2.13.0"));
      EXPECT_GE(program.schema_minor, 20);
      ++count;
    }
  }
  EXPECT_GE(count, 30);
}

TEST(Read, OriginsOfStrictAndOtherExports) {
  for (const char* name : {"reader/nested.pt2", "reader/nested_strict.pt2"}) {
    SCOPED_TRACE(name);
    const ExportedProgram program = read_data(name);
    std::vector<std::string> paths;
    for (const Node* node : program.graph.nodes()) {
      paths.push_back(node->origin().module_path);
      EXPECT_THAT(node->origin().source, testing::MatchesRegex("make_reader_files.py:[0-9]+"));
    }
    // The first block is called twice.
    EXPECT_THAT(paths, ElementsAre("layers.0.proj", "layers.0", "layers.1.proj", "layers.1",
                                   "layers.0.proj", "layers.0", ""));
  }
}

TEST(Read, ImportIndexIsThePlaceInTheFile) {
  const ExportedProgram program = read_data("reader/sizes.pt2");
  ArchiveEditor editor("reader/sizes.pt2");
  const auto model = nlohmann::json::parse(editor.member("models/model.json").bytes);
  const auto& nodes = model["graph_module"]["graph"]["nodes"];
  EXPECT_LT(program.graph.node_count(), nodes.size());
  for (const Node* node : program.graph.nodes()) {
    const auto target = nodes.at(node->import_index())["target"].get<std::string>();
    EXPECT_EQ("torch.ops." + node->op().name, target);
  }
}

TEST(Read, SizesArePolynomials) {
  const ExportedProgram program = read_data("reader/sizes.pt2");
  const Graph& graph = program.graph;
  const Dim rows = input_named(graph, "x").value->size(0);
  EXPECT_FALSE(rows.is_constant());
  EXPECT_EQ(input_named(graph, "doubled").value->size(0), rows * Dim(2));
  EXPECT_EQ(input_named(graph, "longer").value->size(0), rows + Dim(1));
  const Dim count = std::get<IntType>(input_named(graph, "count").value->type()).value;
  // Arithmetic on sizes leaves no nodes.
  EXPECT_THAT(op_names(graph),
              ElementsAre("aten.view.default", "aten.zeros.default", "aten.view.default",
                          "aten.slice.Tensor", "aten.add.Tensor"));
  EXPECT_THAT(only_node(graph, "aten.zeros.default")->argument("size").dims(),
              ElementsAre(rows * Dim(2) + Dim(1), count));
  const Node* view = graph.first_node();
  EXPECT_THAT(view->argument("size").dims(), ElementsAre(Dim::floordiv(rows, 2), Dim(2), Dim(3)));
  EXPECT_EQ(graph.outputs().back().value.dim(), rows * rows - Dim(1));
  // The ranges of symbols, and nothing of "2*s77".
  EXPECT_EQ(graph.symbols.size(), 2U);
}

TEST(Read, Ranges) {
  const ExportedProgram program = read_data("reader/bounded.pt2");
  const Value* x = input_named(program.graph, "x").value;
  const Value* y = input_named(program.graph, "y").value;
  const auto range_of = [&](const Dim& dim) { return dim.range(program.graph.symbols); };
  EXPECT_EQ(range_of(x->size(0)).minimum, 3);
  EXPECT_EQ(range_of(x->size(0)).maximum, 64);
  EXPECT_EQ(range_of(x->size(1)).minimum, 0);
  EXPECT_EQ(range_of(x->size(1)).maximum, 100);
  // The exporter writes 2, and means that sizes 0 and 1 were not traced: torch runs them.
  EXPECT_EQ(range_of(y->size(0)).minimum, 0);
  EXPECT_EQ(range_of(y->size(0)).maximum, std::numeric_limits<std::int64_t>::max());
}

TEST(Read, DataDependentSizesStayWithTheirNodes) {
  const ExportedProgram program = read_data("reader/data_dependent.pt2");
  const Graph& graph = program.graph;
  const Node* item = only_node(graph, "aten.item.default");
  const auto* type = std::get_if<IntType>(&item->result()->type());
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->value, Dim::symbol("u0"));
  EXPECT_EQ(graph.symbols.at("u0").minimum, 2);
  EXPECT_EQ(graph.symbols.at("u0").maximum, 9);
  EXPECT_EQ(only_node(graph, "aten.zeros.default")->result()->size(0), Dim::symbol("u0") * Dim(2));
  EXPECT_EQ(only_node(graph, "aten.nonzero.default")->result()->size(0), Dim::symbol("u1"));
  // x / rows ** 0.5: the float is computed when the model runs, so the division is not ours.
  const Node* division = only_node(graph, "aten.div.Tensor(opaque)");
  EXPECT_TRUE(division->op().opaque());
  EXPECT_TRUE(std::holds_alternative<FloatType>(division->input(1)->type()));
  // What no Dim can hold is a symbol with the expression as its name.
  const Node* larger = only_node(graph, "aten.upsample_nearest2d.vec");
  std::vector<std::string> symbols;
  larger->result()->size(2).collect_symbols(symbols);
  ASSERT_EQ(symbols.size(), 1U);
  EXPECT_THAT(symbols[0], HasSubstr("TruncToInt(Mul(1.5, ToFloat("));
}

TEST(Read, WeightsAreMappedWithTheirStrides) {
  const ExportedProgram program = read_data("reader/weights.pt2");
  const auto data = [&](const std::string& target) -> const Tensor& {
    return input_named(program.graph, target).data;
  };
  const Tensor& tied = data("tied");
  EXPECT_EQ(elements<float>(tied).back(), 23.0F);
  // Names of one storage share memory, and say so.
  EXPECT_EQ(data("tied_again").data(), tied.data());
  EXPECT_EQ(data("transposed").data(), tied.data());
  EXPECT_EQ(data("tied_again").storage(), tied.storage());
  EXPECT_NE(data("sliced").storage(), tied.storage());
  EXPECT_THAT(data("transposed").sizes(), ElementsAre(4, 6));
  EXPECT_THAT(data("transposed").strides(), ElementsAre(1, 4));
  EXPECT_THAT(data("expanded").strides(), ElementsAre(1, 0));
  EXPECT_THAT(elements<float>(data("expanded")), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_THAT(elements<float>(data("sliced")), ElementsAre(8, 11, 14, 17));
  EXPECT_EQ(static_cast<std::byte*>(data("sliced").data()) - 8 * sizeof(float),
            data("sliced").storage().get());
  const TensorType& sliced = input_named(program.graph, "sliced").value->tensor();
  EXPECT_EQ(sliced.storage_offset, Dim(8));
  EXPECT_THAT(sliced.strides, ElementsAre(Dim(3)));
}

TEST(Read, WeightsOfEveryElementType) {
  const ExportedProgram program = read_data("reader/weights.pt2");
  const auto data = [&](const std::string& target) -> const Tensor& {
    return input_named(program.graph, target).data;
  };
  EXPECT_THAT(elements<std::uint8_t>(data("of_uint8")), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements<std::int8_t>(data("of_int8")), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements<std::int16_t>(data("of_int16")), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements<std::uint16_t>(data("of_uint16")), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements<std::int32_t>(data("of_int32")), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements<double>(data("of_float64")), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements<bool>(data("of_bool")), ElementsAre(true, false, true));
  EXPECT_THAT(elements<std::uint16_t>(data("of_float16")), ElementsAre(0, 0x3c00, 0x4000));
  EXPECT_THAT(elements<std::uint16_t>(data("of_bfloat16")), ElementsAre(0, 0x3f80, 0x4000));
  EXPECT_EQ(data("of_float8_e4m3fn").dtype(), DType::kFloat8E4M3FN);
  EXPECT_EQ(data("of_complex64").dtype(), DType::kComplex64);
  EXPECT_THAT(elements<std::int64_t>(data("scalar")), ElementsAre(7));
  EXPECT_EQ(data("scalar").rank(), 0);
  EXPECT_TRUE(data("empty").defined());
  EXPECT_EQ(data("empty").numel(), 0);
}

TEST(Read, KindsOfInputs) {
  const ExportedProgram program = read_data("reader/weights.pt2");
  const Graph& graph = program.graph;
  EXPECT_EQ(input_named(graph, "tied").kind, InputKind::kParameter);
  EXPECT_EQ(input_named(graph, "sliced").kind, InputKind::kBuffer);
  EXPECT_TRUE(input_named(graph, "sliced").persistent);
  const GraphInput& temporary = input_named(graph, "temporary");
  EXPECT_EQ(temporary.kind, InputKind::kBuffer);
  EXPECT_FALSE(temporary.persistent);
  EXPECT_THAT(elements<float>(temporary.data), ElementsAre(0, 1));
  const GraphInput& lifted = input_named(graph, "lifted_tensor_0");
  EXPECT_EQ(lifted.kind, InputKind::kConstant);
  EXPECT_THAT(elements<float>(lifted.data), ElementsAre(1, 2, 3));
  EXPECT_EQ(input_named(graph, "x").kind, InputKind::kUser);
  EXPECT_FALSE(input_named(graph, "x").data.defined());
}

TEST(Read, TheMappingOutlivesTheProgramAndTheName) {
  Tensor tied;
  {
    const TemporaryFile file(file_bytes("reader/weights.pt2"));
    tied = input_named(read(file.path()).graph, "tied").data;
  }
  EXPECT_EQ(elements<float>(tied)[5], 5.0F);
}

TEST(Read, MisalignedMembersAreCopiedOnceAStorage) {
  for (const std::size_t alignment : {1U, 2U, 4U, 16U}) {
    SCOPED_TRACE(alignment);
    const ArchiveEditor editor("reader/weights.pt2");
    const TemporaryFile file(editor.bytes(alignment));
    const ExportedProgram program = read(file.path());
    const Tensor& tied = input_named(program.graph, "tied").data;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tied.data()) % alignof(double), 0U);
    EXPECT_EQ(elements<float>(tied).back(), 23.0F);
    EXPECT_EQ(input_named(program.graph, "transposed").data.data(), tied.data());
  }
}

TEST(Read, MutationsAreOutputs) {
  const ExportedProgram program = read_data("reader/mutations.pt2");
  const auto& outputs = program.graph.outputs();
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].kind, OutputKind::kBufferMutation);
  EXPECT_EQ(outputs[0].target, "calls");
  EXPECT_EQ(outputs[1].kind, OutputKind::kUserInputMutation);
  EXPECT_EQ(outputs[1].target, "states['inner']");
  EXPECT_EQ(outputs[1].target, program.graph.inputs().back().target);
  EXPECT_EQ(outputs[2].kind, OutputKind::kUser);
}

TEST(Read, TheCallsSignature) {
  const ExportedProgram program = read_data("reader/signature.pt2");
  std::vector<std::string> names;
  std::vector<std::string> literals;
  for (const GraphInput& input : program.graph.inputs()) {
    names.push_back(input.target);
    if (input.kind == InputKind::kLiteral) literals.push_back(input.literal.to_string());
  }
  EXPECT_THAT(names, ElementsAre("first", "pair.left", "pair.right", "rest_0", "rest_1[0]",
                                 "options['weights']['w']", "options['count']", "mode", "scale"));
  EXPECT_THAT(literals, ElementsAre("0.5", "4", "\"mean\"", "None"));
  EXPECT_THAT(program.signature.argument_names,
              ElementsAre("first", "pair", "rest_0", "rest_1", "options", "mode", "scale"));
  const PyTree result =
      parse_pytree(program.signature.out_spec, program.signature.namedtuple_fields);
  EXPECT_THAT(result_leaf_names(result),
              ElementsAre("output['result']", "output['pair'].left", "output['pair'].right",
                          "output['all'][0]", "output['all'][1][0]", "output['all'][1][1]",
                          "output['ordered']['z']", "output['ordered']['a']"));
  const auto& outputs = program.graph.outputs();
  ASSERT_EQ(outputs.size(), 8U);
  EXPECT_TRUE(outputs[2].value.is_none());
  EXPECT_EQ(outputs[5].value.integer(), 3);
  EXPECT_TRUE(outputs[7].value.boolean());
}

TEST(Read, ListsOfResultsAreFlat) {
  const ExportedProgram program = read_data("reader/lists.pt2");
  const Graph& graph = program.graph;
  EXPECT_EQ(only_node(graph, "aten.split_with_sizes.default")->results().size(), 3U);
  EXPECT_EQ(only_node(graph, "aten.unbind.int")->results().size(), 3U);
  const Node* maximum = only_node(graph, "aten.max.dim");
  ASSERT_EQ(maximum->results().size(), 2U);
  EXPECT_EQ(maximum->result(1)->dtype(), DType::kInt64);
  EXPECT_EQ(only_node(graph, "aten.stack.default")->argument("tensors").tensors(),
            only_node(graph, "aten.unbind.int")->results());
  EXPECT_EQ(only_node(graph, "aten.index.Tensor")->argument("indices").tensors().size(), 1U);
}

TEST(Read, ValuesHaveTheNamesOfTheFile) {
  const ExportedProgram program = read_data("reader/opaque.pt2");
  const Node* mix = only_node(program.graph, "reader_test.mix.default");
  std::vector<std::string> names;
  for (const Value* result : mix->results()) names.push_back(result->name());
  EXPECT_THAT(names, ElementsAre("getitem", "getitem_2", "getitem_3"));
}

TEST(Read, UnknownOpsAreOpaque) {
  const ExportedProgram program = read_data("reader/opaque.pt2");
  const Graph& graph = program.graph;
  const Node* mix = only_node(graph, "reader_test.mix.default");
  EXPECT_TRUE(mix->op().opaque());
  EXPECT_EQ(mix->result(0)->dtype(), DType::kFloat64);
  const Argument::Tensors& optional = mix->argument("optional").tensors();
  ASSERT_EQ(optional.size(), 2U);
  EXPECT_EQ(optional[0], nullptr);
  EXPECT_EQ(optional[1], graph.inputs()[0].value);
  EXPECT_EQ(mix->argument("scale").number(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(mix->argument("flag").boolean());
  EXPECT_EQ(mix->argument("dtype").dtype(), DType::kFloat64);
  EXPECT_EQ(*mix->argument("device").get_if<Device>(), Device{"cpu"});
  EXPECT_EQ(*mix->argument("layout").get_if<Layout>(), Layout::kStrided);
  const auto& factors = *mix->argument("factors").get_if<Argument::Floats>();
  ASSERT_EQ(factors.size(), 3U);
  EXPECT_EQ(factors[1], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(factors[2]));
  EXPECT_THAT(*mix->argument("names").get_if<Argument::Strings>(), ElementsAre("a", "b"));
  // Operands of a higher-order op are uses of their values.
  const Node* cond = only_node(graph, "higher_order.cond");
  EXPECT_TRUE(cond->op().opaque());
  EXPECT_EQ(cond->operands().size(), 2U);
  // A complex factor is nothing that our graph holds.
  EXPECT_TRUE(only_node(graph, "aten.mul.Tensor(opaque)")->op().opaque());
}

TEST(Read, RegionsWhoseModeChangesNothingAreTheirNodes) {
  const Graph graph = read_data("reader/regions.pt2").graph;
  std::vector<std::string> ops;
  for (const Node* node : graph.nodes()) ops.push_back(node->op().name);
  // Under autocast ops change their dtypes when torch runs them: that region stays closed.
  EXPECT_THAT(ops, ElementsAre("aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default",
                               "higher_order.wrap_with_autocast"));
  const Value* input = graph.inputs()[0].value;
  const Node* mul = only_node(graph, "aten.mul.Tensor");
  EXPECT_EQ(mul->argument("other").dim(), input->size(0));
  EXPECT_EQ(graph.outputs()[1].value.value(), mul->result());
}

TEST(Read, OneOfSeveralModels) {
  const std::string path = data_path("reader/several.pt2");
  EXPECT_THAT(model_names(path), ElementsAre("thrice", "twice"));
  EXPECT_EQ(read(path, "twice").graph.inputs().size(), 1U);
  const ExportedProgram thrice = read(path, "thrice");
  EXPECT_THAT(elements<float>(input_named(thrice.graph, "factor").data), ElementsAre(3.0F));
}

TEST(Read, TheArchivesDirectoryMayHaveAnyName) {
  ArchiveEditor editor("reader/nested.pt2");
  for (const std::string root : {"archive/", "a model of mine/", ""}) {
    SCOPED_TRACE(root);
    ArchiveEditor moved = editor;
    for (ArchiveEditor::Member& member : moved.members()) {
      member.name = root + member.name.substr(editor.root().size());
    }
    const TemporaryFile file(moved.bytes());
    EXPECT_EQ(read(file.path()).graph.node_count(), 7U);
  }
}

TEST(Read, UnknownKeysAndMinorVersionsAreFine) {
  ArchiveEditor editor("reader/nested.pt2");
  editor.edit_model([](nlohmann::json& model) {
    model["schema_version"]["minor"] = 99;
    model["invented"] = {{"later", true}};
    model["graph_module"]["graph"]["nodes"][0]["invented"] = 1;
  });
  const TemporaryFile file(editor.bytes());
  EXPECT_EQ(read(file.path()).schema_minor, 99);
}

TEST(Read, WithoutACallSignatureNamesAreThePlaceholders) {
  ArchiveEditor editor("reader/signature.pt2");
  editor.edit_model([](nlohmann::json& model) { model["graph_module"]["module_call_graph"] = {}; });
  const TemporaryFile file(editor.bytes());
  const ExportedProgram program = read(file.path());
  EXPECT_EQ(program.graph.inputs()[1].target, "pair_left");
  EXPECT_TRUE(program.signature.in_spec.empty());
}

TEST(Read, WeightsOfOtherDevicesAreBytesAllTheSame) {
  ArchiveEditor editor("reader/nested.pt2");
  const auto move = [](nlohmann::json& meta) { meta["device"] = {{"type", "cuda"}, {"index", 0}}; };
  editor.edit_model([&](nlohmann::json& model) {
    for (auto& meta : model["graph_module"]["graph"]["tensor_values"]) move(meta);
  });
  editor.edit_json("data/weights/model_weights_config.json", [&](nlohmann::json& config) {
    for (auto& payload : config["config"]) move(payload["tensor_meta"]);
  });
  const TemporaryFile file(editor.bytes());
  const ExportedProgram program = read(file.path());
  const GraphInput& weight = input_named(program.graph, "layers.0.proj.weight");
  EXPECT_EQ(weight.value->tensor().device, "cuda:0");
  EXPECT_EQ(weight.data.numel(), 16);
}

TEST(Read, UnusedPickledWeightsAreNoInputs) {
  ArchiveEditor editor("reader/weights.pt2");
  // The exporter computes with `tied_again` alone.
  editor.edit_json("data/weights/model_weights_config.json",
                   [](nlohmann::json& config) { config["config"]["tied"]["use_pickle"] = true; });
  const TemporaryFile file(editor.bytes());
  const ExportedProgram program = read(file.path());
  EXPECT_THROW(input_named(program.graph, "tied"), std::runtime_error);
  EXPECT_TRUE(input_named(program.graph, "tied_again").data.defined());
  verify(program.graph);
}

}  // namespace
}  // namespace unfuse::pt2
