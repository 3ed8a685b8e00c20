#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "program/decompose_file.h"

namespace unfuse::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string describe_place(const LeftOp& left) {
  if (left.module_path.empty()) return left.source;
  return left.source.empty() ? left.module_path
                             : fmt::format("{} ({})", left.module_path, left.source);
}

void print_text(const DecomposeOptions& options, const Report& report) {
  std::string text;
  for (const auto& [op, count] : report.opened) {
    text += fmt::format("opened {} {}\n", count, op);
  }
  if (report.opened.empty()) text += "opened nothing\n";
  for (const LeftOp& left : report.left_to_torch) {
    const std::string place = describe_place(left);
    text += fmt::format("left {} {}{}: {}\n", left.count, left.op,
                        place.empty() ? "" : ", first at " + place, left.reason);
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  write_out(text + fmt::format("written to {}\n", options.output));
}

void print_json(const Report& report) {
  Json left = Json::array();
  for (const LeftOp& op : report.left_to_torch) {
    left.push_back({{"op", op.op},
                    {"count", op.count},
                    {"reason", op.reason},
                    {"module_path", op.module_path},
                    {"source", op.source}});
  }
  write_json({{"opened", Json(report.opened)}, {"left", left}, {"notes", report.notes}});
}

}  // namespace

int decompose(const DecomposeOptions& options) {
  check_output_file(options.output);
  Progress progress("opening " + options.model.path);
  DecomposeFileOptions wanted;
  wanted.request = {options.to == "core" ? passes::OpenTo::kCore : passes::OpenTo::kSdpa,
                    options.only, options.sdpa_semantics};
  wanted.strict = options.strict;
  const Report report =
      decompose_file(options.model.path, options.model.name, options.output, wanted);
  progress.clear();
  if (options.json) {
    print_json(report);
  } else {
    print_text(options, report);
  }
  return kDone;
}

}  // namespace unfuse::cli
