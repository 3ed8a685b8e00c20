#include "pt2/exported_program.h"

#include <algorithm>
#include <utility>

#include "pt2/archive.h"
#include "pt2/failure.h"
#include "pt2/json_reading.h"
#include "pt2/node_import.h"
#include "pt2/scope.h"
#include "pt2/signature.h"
#include "pt2/symbol_table.h"
#include "pt2/weights.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr int kSchemaMajor = 8;

std::vector<std::string> names_in(const Archive& archive) {
  std::vector<std::string> names = archive.names_between("models/", ".json");
  if (!names.empty()) return names;
  fail(archive.path(), "holds no exported program",
       "give a file that torch.export.save wrote; a compiled (AOTInductor) package is none");
}

std::string choose_model(const Archive& archive, const std::string& wanted) {
  const std::vector<std::string> names = names_in(archive);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  if (wanted.empty() && names.size() == 1) return names.front();
  if (wanted.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "holds several models: " + list, archive.path(),
                "say which one: --model NAME of the command, the argument `model` of load");
  }
  if (std::find(names.begin(), names.end(), wanted) == names.end()) {
    throw Error(ErrorKind::kInvalidArgument, "holds no model '" + wanted + "'", archive.path(),
                "choose one of " + list);
  }
  return wanted;
}

void refuse_old_archives(const Archive& archive, const std::string& model) {
  if (!archive.has("data/weights/" + model + ".pt") &&
      !archive.has("data/constants/" + model + ".pt")) {
    return;
  }
  fail(archive.path(), "written by torch 2.8 or older, whose weights are pickled",
       "save it again with torch 2.9 or newer");
}

// Returns the minor version.
int check_version(const Json& program) {
  const Json version = program.at("schema_version");
  const std::int64_t major = version.at("major").integer();
  const std::int64_t minor = version.at("minor").integer();
  const std::string found = "schema version " + std::to_string(major) + "." + std::to_string(minor);
  const std::string& file = program.document().file();
  if (major > kSchemaMajor) {
    fail(file, "written with export " + found + ", newer than this build reads (8)",
         "update unfuse, or save the model with torch 2.9 to 2.14");
  }
  if (major < kSchemaMajor) {
    fail(file, "written with export " + found + ", older than this build reads (8)",
         "save it again with torch 2.9 or newer");
  }
  constexpr std::int64_t kLargestMinor = 1 << 30;
  if (minor < 0 || minor > kLargestMinor) version.fail("no version number");
  return static_cast<int>(minor);
}

void import_graph(const Json& program, ExportedProgram& result) {
  const Json graph_module = program.at("graph_module");
  const Json graph_json = graph_module.at("graph");
  result.signature = read_call_signature(graph_module);
  SymbolTable symbols(result.graph.symbols);
  symbols.declare(program.at("range_constraints"));
  Scope scope;
  SignatureImporter signature(result.graph, graph_module, symbols, scope);
  signature.import_inputs(result.signature);
  NodeImporter::Progress progress{&result.module_classes, &result.file_names};
  NodeImporter importer(result.graph, graph_json, symbols, scope, progress);
  const Json nodes = graph_json.at("nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    importer.import(nodes.at(i), static_cast<int>(i));
  }
  signature.import_outputs();
  erase_unused_scalar_nodes(result.graph);
  result.hints = symbols.hints();
}

}  // namespace

std::vector<std::string> model_names(const std::string& path) { return names_in(Archive(path)); }

namespace {

ExportedProgram read_program(const std::string& path, const std::string& model, bool weights) {
  const auto opened = std::make_shared<const Archive>(path);
  const Archive& archive = *opened;
  const std::string name = choose_model(archive, model);
  refuse_old_archives(archive, name);
  const std::string member = "models/" + name + ".json";
  const JsonDocument document(archive.read(member), path, member);
  ExportedProgram result;
  result.schema_minor = check_version(document.root());
  if (const auto version = document.root().find("torch_version")) {
    result.torch_version = version->string();
  }
  import_graph(document.root(), result);
  if (weights) Weights(archive, name).attach(result.graph);
  result.archive = opened;
  result.model = name;
  return result;
}

}  // namespace

ExportedProgram read(const std::string& path, const std::string& model) {
  return read_program(path, model, /*weights=*/true);
}

ExportedProgram read_without_weights(const std::string& path, const std::string& model) {
  return read_program(path, model, /*weights=*/false);
}

}  // namespace unfuse::pt2
