#include "program/onnx_export.h"

#include <filesystem>
#include <utility>

#include "onnx/convert.h"
#include "passes/core/to_core.h"
#include "passes/pipeline.h"
#include "program/padded_rows.h"
#include "pt2/exported_program.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

void note_outputs_left_out(const Graph& graph, Report& report) {
  std::int64_t count = 0;
  for (const GraphOutput& output : graph.outputs()) {
    const bool is_tensor = output.value.is_value() && output.value.value()->is_tensor();
    if (output.kind == OutputKind::kUser && !is_tensor) ++count;
  }
  if (count == 0) return;
  report.notes.push_back(std::to_string(count) +
                         " of the results are None or numbers, and no outputs of the ONNX model");
}

void note_updates(const Graph& graph, Report& report) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kUser) continue;
    report.notes.push_back("the model writes to '" + output.target +
                           "': what it would hold afterwards is an output more");
  }
}

/// An ONNX model in the place of the only copy of what it was made from would be a loss.
void check_is_another_file(const std::string& path, const std::string& output) {
  std::error_code missing;
  if (!std::filesystem::equivalent(path, output, missing) || missing) return;
  throw Error(ErrorKind::kInvalidArgument, "is the model that is exported", output,
              "name another file for the ONNX model");
}

}  // namespace

OnnxExport export_onnx(Graph& graph, Report report, const std::string& output,
                       const OnnxOptions& options, const std::string& where) {
  const std::vector<std::string> names = onnx::output_names(graph);
  OnnxExport result;
  result.report = std::move(report);
  result.report.graphs = 1;
  CompileOptions compile;
  compile.fully_masked_rows = options.fully_masked_rows;
  passes::run_pipeline(graph, compile, result.report);
  // What ONNX has no word for may be made of what it has.
  passes::to_core(graph, [](const Node& node) { return !onnx::has_form(node.op()); });
  note_outputs_left_out(graph, result.report);
  note_updates(graph, result.report);
  const onnx::Model converted = onnx::convert(graph, options.opset, names, where);
  onnx::write_model(converted, output, options.largest_message);
  result.nodes = static_cast<std::int64_t>(converted.nodes.size());
  for (const onnx::Initializer& initializer : converted.initializers) {
    result.weight_bytes +=
        initializer.data.numel() * static_cast<std::int64_t>(dtype_size(initializer.data.dtype()));
  }
  return result;
}

OnnxExport export_onnx(const std::string& path, const std::string& model, const std::string& output,
                       const OnnxOptions& options) {
  check_is_another_file(path, output);
  pt2::ExportedProgram program = pt2::read(path, model);
  Report report;
  report.notes = padded_rows_notes(program);
  return export_onnx(program.graph, std::move(report), output, options, path);
}

}  // namespace unfuse
