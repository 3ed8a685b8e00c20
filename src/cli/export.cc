#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace unfuse::cli {

int export_onnx(const ExportOptions& options) {
  check_output_file(options.output);
  print_beside(options.output);
  Progress progress("exporting " + options.model.path);
  const OnnxExport made =
      unfuse::export_onnx(options.model.path, options.model.name, options.output, options.onnx);
  progress.clear();
  if (options.json) {
    nlohmann::ordered_json report = opening_as_json(made.report);
    report["opset"] = options.onnx.opset;
    report["nodes"] = made.nodes;
    report["weight_bytes"] = made.weight_bytes;
    write_json(report);
    return kDone;
  }
  write_out(describe_opening(made.report) +
            fmt::format("written to {}: ONNX opset {}, {} nodes, {} of weights\n", options.output,
                        options.onnx.opset, made.nodes, describe_bytes(made.weight_bytes)));
  return kDone;
}

}  // namespace unfuse::cli
