#include "pt2/write.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "pt2/archive.h"
#include "pt2/failure.h"
#include "pt2/level_export.h"
#include "pt2/signature_export.h"
#include "pt2/zip_writer.h"
#include "tensor_io/files.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::ordered_json;

constexpr const char* kIdMember = ".data/serialization_id";

void learn_sizes(const RecordedLevel& level, SymbolTable& symbols, SizeExporter& sizes) {
  const auto learn = [&](const Json& size) {
    if (size.only_key() != "as_expr") return;
    sizes.learn(size.at("as_expr").at("expr_str").string(), symbols.read(size));
  };
  const Json tensors = level.json.read.at("tensor_values");
  for (const std::string& name : tensors.keys()) {
    for (const char* list : {"sizes", "strides"}) {
      const Json extents = tensors.at(name).at(list);
      for (std::size_t i = 0; i < extents.size(); ++i) learn(extents.at(i));
    }
  }
  const auto numbers = level.json.read.find("sym_int_values");
  if (!numbers) return;
  for (const std::string& name : numbers->keys()) learn(numbers->at(name));
}

std::vector<Node*> nodes_of(const Graph& graph) {
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) nodes.push_back(node);
  return nodes;
}

// Members of the archive that take the place of the file's, or are new, by name.
using Members = std::map<std::string, std::string>;

class ProgramWriter {
 public:
  explicit ProgramWriter(const ExportedProgram& program)
      : program_(program),
        member_("models/" + program.model + ".json"),
        text_(program.archive->read(member_)),
        document_(text_, program.archive->path(), member_),
        json_(ordered_json::parse(text_)) {}

  Members members(const WriteOptions& options) {
    Members members;
    ordered_json program = json_;
    program["graph_module"] = graph_module(options.dissolve_regions, members);
    if (options.functional) program["verifiers"] = ordered_json::array({"ATEN"});
    members[member_] = program.dump(-1, ' ', true);
    return members;
  }

 private:
  ordered_json graph_module(bool dissolve_regions, Members& members) const {
    const RecordedJson module{document_.root().at("graph_module"), &json_.at("graph_module")};
    const RecordedProgram recorded(module.at("graph"));
    SymbolRanges ranges = program_.graph.symbols;
    SymbolTable symbols(ranges);
    symbols.set_reading_inputs(true);  // every symbol of the file is known to be good
    SizeExporter sizes(program_.hints);
    for (const RecordedLevel& level : recorded.levels()) learn_sizes(level, symbols, sizes);

    ExportSources sources;
    sources.recorded = &recorded;
    sources.symbols = &symbols;
    sources.sizes = &sizes;
    sources.file_names = &program_.file_names;
    sources.dissolve_regions = dissolve_regions;
    LevelExporter exporter(sources, 0);
    SignatureExporter signature(program_.graph, module, symbols);
    signature.export_inputs(exporter);
    exporter.write_nodes(nodes_of(program_.graph));
    signature.export_outputs(exporter);
    add_constants(signature.new_constants(), members);

    ordered_json written = *module.text;
    written["graph"] = exporter.take();
    written["graph"]["inputs"] = signature.inputs();
    written["graph"]["outputs"] = signature.outputs();
    written["signature"] = signature.signature();
    return written;
  }

  void add_constants(const std::vector<const GraphInput*>& constants, Members& members) const {
    if (constants.empty()) return;
    const std::string folder = "data/constants/";
    const std::string member = folder + program_.model + "_constants_config.json";
    ordered_json config = ordered_json::parse(program_.archive->read(member));
    const SizeExporter sizes({});
    int number = 0;
    for (const GraphInput* constant : constants) {
      std::string name;
      do {
        name = "tensor_" + std::to_string(number++);
      } while (program_.archive->has(folder + name));
      const Tensor data = tensor_io::packed(constant->data);
      const auto* bytes = data.data_as<char>();
      members[folder + name] =
          std::string(bytes, static_cast<std::size_t>(data.numel()) * dtype_size(data.dtype()));
      TensorType type = TensorType::contiguous(data.dtype(), constant->value->sizes());
      type.device = constant->value->tensor().device;
      config["config"][constant->target] = {
          {"path_name", name},
          {"is_param", false},
          {"use_pickle", false},
          {"tensor_meta", export_tensor_meta(type, sizes, false)}};
    }
    members[member] = config.dump(-1, ' ', true);
  }

  const ExportedProgram& program_;
  std::string member_;
  std::string text_;
  JsonDocument document_;
  ordered_json json_;
};

Members members_of(const ExportedProgram& program, const WriteOptions& options) {
  ProgramWriter writer(program);
  try {
    return writer.members(options);
  } catch (const ordered_json::exception& error) {
    // The reader is content with less than the schema asks for.
    fail(program.archive->path(),
         "'models/" + program.model + ".json' is not of the schema: " + error.what());
  } catch (const RegionChanged&) {
    if (options.dissolve_regions) {
      throw Error(ErrorKind::kInternal, "a value of the graph has no name in the file");
    }
  }
  return members_of(program, {true, options.functional});
}

// The directory that torch puts a file's members in: "model" for "folder/model.pt2".
std::string root_of(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  return stem.empty() || !is_safe_member_name(stem) ? "archive" : stem;
}

}  // namespace

void write(const ExportedProgram& program, const std::string& path, const WriteOptions& options) {
  Members members = members_of(program, options);
  const Archive& archive = *program.archive;
  tensor_io::ReplacedFile file(path);
  ZipWriter zip(file.path(), root_of(path));
  for (const std::string& name : archive.names()) {
    if (name == kIdMember) continue;
    const auto changed = members.find(name);
    if (changed == members.end()) {
      zip.copy(name, archive.file(), archive.member(name));
      continue;
    }
    zip.add(name, changed->second);
    members.erase(changed);
  }
  for (const auto& [name, bytes] : members) zip.add(name, bytes);
  zip.add(kIdMember, zip.content_id());
  zip.finish();
  file.commit();
}

}  // namespace unfuse::pt2
