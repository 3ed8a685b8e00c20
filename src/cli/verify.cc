#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/comparison.h"
#include "cli/describe.h"
#include "cli/matching.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "tensor_io/tensor_file.h"

namespace unfuse::cli {
namespace {

using Json = nlohmann::ordered_json;

/// An output and what it was compared with.
struct Verdict {
  std::string name;
  Tensor got;
  Tensor expected;
  Tolerance tolerance;
  Comparison comparison;
};

std::vector<Verdict> judge(const VerifyOptions& options) {
  Progress progress("compiling " + options.model.path);
  const Program program = Program::load(options.model.path, options.compile, options.model.name);
  const auto inputs =
      match_tensors(program.inputs(), tensor_io::read(options.inputs), options.inputs, "input");
  const auto expected =
      match_tensors(program.outputs(), tensor_io::read(options.expect), options.expect, "output");
  progress.show("running");
  const std::vector<Tensor> outputs = program.run(inputs);
  progress.show("comparing");
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tolerance tolerance = default_tolerance(expected[i].dtype());
    tolerance.relative = options.relative.value_or(tolerance.relative);
    tolerance.absolute = options.absolute.value_or(tolerance.absolute);
    verdicts.push_back({program.outputs()[i].name, outputs[i], expected[i], tolerance,
                        compare(outputs[i], expected[i], tolerance)});
  }
  return verdicts;
}

std::string describe_mismatch(const Verdict& verdict) {
  const Comparison& found = verdict.comparison;
  if (found.matches()) return "ok";
  if (!found.same_type) {
    return fmt::format("MISMATCH: {} is expected",
                       describe_type(verdict.expected.dtype(), verdict.expected.sizes()));
  }
  return fmt::format("MISMATCH: {} of {} elements beyond rtol {:g}, atol {:g}", found.mismatches,
                     verdict.got.numel(), verdict.tolerance.relative, verdict.tolerance.absolute);
}

void print_text(const std::vector<Verdict>& verdicts) {
  Table table;
  table.add({"output", "type", "max abs", "at", "max rel", "at", ""});
  for (const Verdict& verdict : verdicts) {
    const Comparison& found = verdict.comparison;
    const auto& sizes = verdict.got.sizes();
    const bool measured = found.same_type;
    const bool differs = measured && found.largest_absolute > 0;
    table.add({verdict.name, describe_type(verdict.got.dtype(), sizes),
               measured ? fmt::format("{:.3g}", found.largest_absolute) : "",
               differs ? describe_index(found.where_absolute, sizes) : "",
               measured ? fmt::format("{:.3g}", found.largest_relative) : "",
               differs ? describe_index(found.where_relative, sizes) : "",
               describe_mismatch(verdict)});
  }
  write_out(table.text(0));
}

void print_json(const std::vector<Verdict>& verdicts) {
  // JSON has no infinity: null stands for it.
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json outputs = Json::array();
  for (const Verdict& verdict : verdicts) {
    const Comparison& found = verdict.comparison;
    Json json = {{"name", verdict.name},
                 {"matches", found.matches()},
                 {"dtype", dtype_name(verdict.got.dtype())},
                 {"sizes", verdict.got.sizes()}};
    if (found.same_type) {
      json["max_abs"] = finite(found.largest_absolute);
      json["max_rel"] = finite(found.largest_relative);
      if (found.largest_absolute > 0) {
        json["max_abs_at"] = unravel(found.where_absolute, verdict.got.sizes());
        json["max_rel_at"] = unravel(found.where_relative, verdict.got.sizes());
      }
      json["mismatches"] = found.mismatches;
      json["rtol"] = verdict.tolerance.relative;
      json["atol"] = verdict.tolerance.absolute;
    }
    outputs.push_back(std::move(json));
  }
  write_json(Json{{"outputs", outputs}});
}

}  // namespace

int verify(const VerifyOptions& options) {
  const std::vector<Verdict> verdicts = judge(options);
  (options.json ? print_json : print_text)(verdicts);
  for (const Verdict& verdict : verdicts) {
    if (!verdict.comparison.matches()) return kMismatch;
  }
  return kDone;
}

}  // namespace unfuse::cli
