#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "program/decompose_file.h"

namespace unfuse::cli {
int decompose(const DecomposeOptions& options) {
  check_output_file(options.output);
  print_beside(options.output);
  Progress progress("opening " + options.model.path);
  DecomposeFileOptions wanted;
  wanted.request = {options.to == "core" ? passes::OpenTo::kCore : passes::OpenTo::kSdpa,
                    options.only, options.sdpa_semantics};
  wanted.strict = options.strict;
  const Report report =
      decompose_file(options.model.path, options.model.name, options.output, wanted);
  progress.clear();
  if (options.json) {
    write_json(opening_as_json(report));
  } else {
    write_out(describe_opening(report) + fmt::format("written to {}\n", options.output));
  }
  return kDone;
}

}  // namespace unfuse::cli
