// What writing gives: the file that was read, with what passes changed.
#include "pt2/write.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ir/builder.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ops/catalogue.h"
#include "pt2/archive.h"
#include "pt2/exported_program.h"
#include "support/archives/archive_editor.h"
#include "support/temporary_folder.h"
#include "tensor_io/files.h"

namespace unfuse::pt2 {
namespace {

namespace fs = std::filesystem;

class Written : public testing::TemporaryFolder {
 protected:
  ExportedProgram write_and_read(const ExportedProgram& program) const {
    write(program, path("written.pt2"));
    return read(path("written.pt2"));
  }
};

std::vector<std::string> all_models() {
  std::vector<std::string> names;
  for (const char* folder : {"", "reader/"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(UNFUSE_TEST_DATA) / folder)) {
      if (entry.path().extension() != ".pt2") continue;
      names.push_back(folder + entry.path().stem().string());
    }
  }
  return names;
}

Node* node_of(const Graph& graph, const std::string& op) {
  for (Node* node : graph.nodes()) {
    if (node->is(op)) return node;
  }
  return nullptr;
}

TEST_F(Written, ModelsComeBackAsTheyWere) {
  for (const std::string& name : all_models()) {
    SCOPED_TRACE(name);
    const std::string source = data_path(name + ".pt2");
    for (const std::string& model : model_names(source)) {
      const ExportedProgram program = read(source, model);
      write(program, path("written.pt2"));
      const ExportedProgram again = read(path("written.pt2"), model);
      EXPECT_EQ(print(again.graph, {.origins = true}), print(program.graph, {.origins = true}));
      EXPECT_EQ(again.signature.in_spec, program.signature.in_spec);
      EXPECT_EQ(again.hints, program.hints);
      verify(again.graph, "written");
    }
  }
}

TEST_F(Written, EveryMemberIsByteForByteTheSame) {
  for (const std::string& name : all_models()) {
    SCOPED_TRACE(name);
    const Archive before(data_path(name + ".pt2"));
    write(read(data_path(name + ".pt2"), model_names(data_path(name + ".pt2")).front()),
          path("written.pt2"));
    const Archive after(path("written.pt2"));
    ASSERT_EQ(after.names(), before.names());
    for (const std::string& member : before.names()) {
      if (member == ".data/serialization_id" || member.starts_with("models/")) continue;
      EXPECT_EQ(after.read(member), before.read(member)) << member;
    }
    for (const std::string& member : after.names()) {
      EXPECT_EQ(after.member(member).offset % 64, 0U) << member;
    }
  }
}

// A size that no node of the file computes, and a constant that a pass made.
TEST_F(Written, NewNodesAndConstantsAreAdded) {
  ExportedProgram program = read(data_path("encoder_dynamic.pt2"));
  Graph& graph = program.graph;
  Node* layer = node_of(graph, "aten._transformer_encoder_layer_fwd.default");
  ASSERT_NE(layer, nullptr);
  Value* x = layer->result();
  const Tensor ones = Tensor::empty(DType::kFloat32, {16});
  for (int i = 0; i < 16; ++i) ones.data_as<float>()[i] = static_cast<float>(i);
  GraphInput constant;
  constant.kind = InputKind::kConstant;
  constant.target = "made";
  constant.data = ones;
  Value* made =
      graph.add_input("c_made", TensorType::contiguous(DType::kFloat32, {16}), std::move(constant));
  Builder builder(graph, layer->next());
  builder.set_origin(layer->origin());
  const Dim rows = x->size(0) * x->size(1) + Dim(0);
  Value* flat = builder.call(ops::get("aten.reshape.default"), {x, Argument::Ints{rows, 16}});
  Value* sum = builder.call(ops::get("aten.add.Tensor"), {flat, made});
  Value* back = builder.call(ops::get("aten.reshape.default"), {sum, x->sizes()});
  graph.replace_all_uses(x, back);
  graph.set_argument(flat->producer(), 0, x);

  const ExportedProgram again = write_and_read(program);
  EXPECT_EQ(again.graph.node_count(), graph.node_count());
  EXPECT_EQ(again.hints, program.hints);
  const auto& inputs = again.graph.inputs();
  const auto added = std::find_if(inputs.begin(), inputs.end(),
                                  [](const GraphInput& input) { return input.target == "made"; });
  ASSERT_NE(added, inputs.end());
  EXPECT_EQ(added->kind, InputKind::kConstant);
  EXPECT_EQ(std::memcmp(added->data.data(), ones.data(), 16 * sizeof(float)), 0);
  const Node* written = node_of(again.graph, "aten.add.Tensor");
  ASSERT_NE(written, nullptr);
  EXPECT_EQ(written->origin().module_path, layer->origin().module_path);
  EXPECT_EQ(written->input(0)->size(0), rows);
}

// The names in an opaque node follow what stands for its operands.
TEST_F(Written, OpaqueNodesTakeNewOperands) {
  ExportedProgram program = read(data_path("reader/opaque.pt2"));
  Node* opaque = nullptr;
  for (Node* node : program.graph.nodes()) {
    if (node->op().opaque() && !node->operands().empty() && node->operands()[0]->is_tensor()) {
      opaque = node;
    }
  }
  ASSERT_NE(opaque, nullptr);
  Value* operand = opaque->operands()[0];
  Builder builder(program.graph, opaque);
  Value* clone = builder.call(ops::get("aten.clone.default"), {operand});
  for (int i = 0; i < static_cast<int>(opaque->arguments().size()); ++i) {
    Argument argument = opaque->argument(i);
    argument.replace_value(operand, clone);
    program.graph.set_argument(opaque, i, argument);
  }
  const ExportedProgram again = write_and_read(program);
  EXPECT_EQ(print(again.graph), print(program.graph));
}

// What a region gave is gone: its nodes go on without it.
TEST_F(Written, RegionsThatChangedAreDissolved) {
  ExportedProgram program = read(data_path("reader/regions.pt2"));
  Graph& graph = program.graph;
  Node* inside = node_of(graph, "aten.add.Tensor");
  ASSERT_NE(inside, nullptr);
  graph.replace_all_uses(inside->result(), inside->input(0));
  graph.erase(inside);
  const ExportedProgram again = write_and_read(program);
  EXPECT_EQ(again.graph.node_count(), graph.node_count());
  verify(again.graph, "written");
}

TEST_F(Written, AnOldFileStaysWhereTheNewOneCannotBeWritten) {
  const ExportedProgram program = read(data_path("encoder_layer.pt2"));
  std::ofstream(path("model.pt2")) << "old";
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write(program, path("model.pt2")), tensor_io::WriteError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(testing::slurp(path("model.pt2")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("")), fs::directory_iterator()), 1);

  EXPECT_THROW(write(program, "/dev/full"), tensor_io::WriteError);
  EXPECT_THROW(write(program, path("nowhere/model.pt2")), tensor_io::WriteError);
}

// The program that is read may be the file that is written.
TEST_F(Written, InPlace) {
  const std::string file = path("model.pt2");
  fs::copy_file(data_path("mutations.pt2"), file);
  const ExportedProgram program = read(file);
  write(program, file);
  EXPECT_EQ(print(read(file).graph), print(program.graph));
  EXPECT_EQ(std::memcmp(read(file).graph.inputs()[0].data.data(),
                        program.graph.inputs()[0].data.data(), 4),
            0);
}

}  // namespace
}  // namespace unfuse::pt2
