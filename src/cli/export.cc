#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace unfuse::cli {

int export_onnx(const ExportOptions& options) {
  check_output_file(options.output);
  Progress progress("exporting " + options.model.path);
  const OnnxExport made =
      unfuse::export_onnx(options.model.path, options.model.name, options.output, options.onnx);
  progress.clear();
  write_out(fmt::format("{}: ONNX opset {}, {} nodes, {} of weights\n", options.output,
                        options.onnx.opset, made.nodes, describe_bytes(made.weight_bytes)));
  if (made.report.opened.empty()) write_out("opened: nothing, the model holds no fused op\n");
  for (const auto& [op, count] : made.report.opened) {
    write_out(fmt::format("opened: {} {}\n", count, op));
  }
  for (const std::string& note : made.report.notes) write_out(fmt::format("note: {}\n", note));
  return kDone;
}

}  // namespace unfuse::cli
