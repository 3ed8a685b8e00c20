#include "program/decompose_file.h"

#include "pt2/exported_program.h"
#include "pt2/write.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

void refuse_what_is_left(const Report& report, const std::string& path) {
  if (report.left_to_torch.empty()) return;
  std::string list;
  for (const LeftOp& left : report.left_to_torch) {
    list += (list.empty() ? "" : "; ") + std::to_string(left.count) + " " + left.op;
    if (!left.module_path.empty()) list += " at " + left.module_path;
    if (!left.source.empty()) list += " (" + left.source + ")";
    list += ": " + left.reason;
  }
  throw Error(ErrorKind::kUnsupported, "left in the graph: " + list, path,
              "nothing was written; without strict, the rest is");
}

}  // namespace

Report decompose_file(const std::string& path, const std::string& model, const std::string& output,
                      const DecomposeFileOptions& options) {
  passes::ops_to_open(options.request);
  pt2::ExportedProgram program = pt2::read_without_weights(path, model);
  Report report;
  passes::open_fused(program.graph, options.request, report);
  if (options.strict) refuse_what_is_left(report, path);
  const bool core = options.request.to == passes::OpenTo::kCore;
  pt2::write(program, output, {.dissolve_regions = core, .functional = core});
  return report;
}

}  // namespace unfuse
