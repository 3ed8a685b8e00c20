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

void print_text(const DecomposeOptions& options, const Report& report) {
  std::string text;
  for (const auto& [op, count] : report.opened) {
    text += fmt::format("opened {} {}\n", count, op);
  }
  if (report.opened.empty()) text += "opened nothing\n";
  for (const LeftOp& left : report.left_to_torch) {
    const std::string place = describe_place(left.module_path, left.source);
    text += fmt::format("left {} {}{}: {}\n", left.count, left.op,
                        place.empty() ? "" : ", first at " + place, left.reason);
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  write_out(text + fmt::format("written to {}\n", options.output));
}

void print_json(const Report& report) {
  write_json({{"opened", Json(report.opened)},
              {"left", left_as_json(report.left_to_torch)},
              {"notes", report.notes}});
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
