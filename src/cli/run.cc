#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/elements.h"
#include "cli/matching.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/random_inputs.h"
#include "tensor_io/files.h"
#include "tensor_io/tensor_file.h"
#include "unfuse/profile.h"

namespace unfuse::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Latency {
  double minimum = 0;  ///< milliseconds
  double median = 0;
};

std::vector<Tensor> make_inputs(const Program& program, const RunOptions& options) {
  if (options.random) {
    const pt2::ExportedProgram exported = pt2::read(options.model.path, options.model.name);
    return random_inputs(exported.graph, choose_sizes(exported, options.sizes), options.seed);
  }
  if (options.inputs.empty()) {
    if (program.inputs().empty()) return {};
    throw Error(ErrorKind::kInvalidArgument, "the model takes inputs", options.model.path,
                "pass --inputs FILE, or --random");
  }
  return match_tensors(program.inputs(), tensor_io::read(options.inputs), options.inputs, "input");
}

// What can be found wrong before the model has run is.
void check_place_of(const std::string& path) {
  if (path.empty()) return;
  check_output_file(path);
  print_beside(path);
}

/// What was found besides the outputs.
struct Findings {
  std::int64_t working_bytes = 0;
  std::optional<std::int64_t> peak_bytes;  ///< above weights, inputs and outputs
  std::optional<Latency> latency;
  int repeat = 0;
  std::optional<Profile> profile;
  ProfileBy profile_by = ProfileBy::kOp;
  bool shows_profile = false;
};

std::int64_t bytes_of(const std::vector<Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    bytes += tensor.numel() * static_cast<std::int64_t>(dtype_size(tensor.dtype()));
  }
  return bytes;
}

Latency measure(const Program& program, const std::vector<Tensor>& inputs, int repeat) {
  Progress progress("measuring");
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    program.run(inputs);
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start;
    times.push_back(passed.count());
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

/// The timed runs; without --repeat it is one that a profile or a trace is of.
void repeat_runs(const Program& program, const std::vector<Tensor>& inputs,
                 const RunOptions& options, Findings& found) {
  found.shows_profile = !options.profile.empty();
  found.profile_by = options.profile == "node" ? ProfileBy::kNode : ProfileBy::kOp;
  found.repeat = options.repeat;
  if (!found.shows_profile && options.trace.empty()) {
    if (options.repeat > 0) found.latency = measure(program, inputs, options.repeat);
    return;
  }
  Profiler profiler(options.compile.threads);
  const Latency latency = measure(program, inputs, std::max(options.repeat, 1));
  if (options.repeat > 0) found.latency = latency;
  found.profile = profiler.stop();
}

/// "mean 0.12, from -3.1 to 4": a first idea of what was computed.
struct Statistics {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  std::int64_t not_finite = 0;
  std::int64_t count = 0;
};

Statistics statistics(const Tensor& given) {
  Statistics found;
  if (!has_numbers(given.dtype())) return found;
  const Tensor tensor = tensor_io::packed(given);
  const DType number = number_type(tensor.dtype());
  const auto count = static_cast<std::size_t>(tensor.numel()) * numbers_in(tensor.dtype());
  const auto* element = tensor.data_as<std::byte>();
  for (std::size_t i = 0; i < count; ++i, element += dtype_size(number)) {
    const double value = read_number(element, number);
    if (!std::isfinite(value)) {
      ++found.not_finite;
      continue;
    }
    found.minimum = found.count == 0 ? value : std::min(found.minimum, value);
    found.maximum = found.count == 0 ? value : std::max(found.maximum, value);
    found.mean += value;
    ++found.count;
  }
  if (found.count > 0) found.mean /= static_cast<double>(found.count);
  return found;
}

std::string describe_values(const Statistics& found) {
  std::string text;
  if (found.count > 0) {
    text =
        fmt::format("mean {:.4g}, from {:.4g} to {:.4g}", found.mean, found.minimum, found.maximum);
  }
  if (found.not_finite > 0) text += fmt::format("  {} not finite", found.not_finite);
  return text;
}

tensor_io::NamedTensors name_outputs(const Program& program, const std::vector<Tensor>& outputs) {
  tensor_io::NamedTensors named;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = program.outputs()[i].name;
    // A model may return one value twice; a file holds it once.
    if (tensor_io::find(named, name) == nullptr) named.push_back({name, outputs[i]});
  }
  return named;
}

void print_text(const tensor_io::NamedTensors& outputs, const Findings& found) {
  Table table;
  for (const auto& [name, tensor] : outputs) {
    table.add(
        {name, describe_type(tensor.dtype(), tensor.sizes()), describe_values(statistics(tensor))});
  }
  write_out(table.text(0));
  const std::string peak = found.peak_bytes
                               ? fmt::format("; at the peak {} above weights, inputs and outputs",
                                             describe_bytes(*found.peak_bytes))
                               : "";
  write_out(fmt::format("memory: {} to work in{}\n", describe_bytes(found.working_bytes), peak));
  if (found.latency) {
    write_out(fmt::format("latency: {:.3f} ms median, {:.3f} ms minimum of {} runs\n",
                          found.latency->median, found.latency->minimum, found.repeat));
  }
  if (found.shows_profile) write_out(fmt::format("\n{}", found.profile->table(found.profile_by)));
}

Json profile_as_json(const Profile& profile, ProfileBy by) {
  Json rows = Json::array();
  for (const ProfileRow& row : profile.rows(by)) {
    rows.push_back({{"op", row.op},
                    {"calls", row.calls},
                    {"seconds", row.seconds},
                    {"flops", row.flops},
                    {"bfloat16_flops", row.bfloat16_flops},
                    {"bytes", row.bytes}});
    if (by == ProfileBy::kOp) continue;
    rows.back()["node"] = row.node;
    rows.back()["module_path"] = row.module_path;
    rows.back()["source"] = row.source;
  }
  return {{"runs", profile.runs()},
          {"seconds", profile.seconds()},
          {"limits",
           {{"flops_per_second", profile.limits().flops_per_second},
            {"bfloat16_flops_per_second", profile.limits().bfloat16_flops_per_second},
            {"bytes_per_second", profile.limits().bytes_per_second}}},
          {"rows", rows}};
}

// JSON has no infinity and no NaN: what is not finite is counted, not written.
void print_json(const tensor_io::NamedTensors& outputs, const Findings& beside) {
  Json json = {{"outputs", Json::array()}};
  for (const auto& [name, tensor] : outputs) {
    const Statistics found = statistics(tensor);
    json["outputs"].push_back({{"name", name},
                               {"dtype", dtype_name(tensor.dtype())},
                               {"sizes", tensor.sizes()},
                               {"mean", found.mean},
                               {"minimum", found.minimum},
                               {"maximum", found.maximum},
                               {"not_finite", found.not_finite}});
  }
  json["memory_bytes"] = {{"working", beside.working_bytes}};
  if (beside.peak_bytes) json["memory_bytes"]["peak"] = *beside.peak_bytes;
  if (beside.latency) {
    json["latency_ms"] = {{"median", beside.latency->median},
                          {"minimum", beside.latency->minimum},
                          {"runs", beside.repeat}};
  }
  if (beside.shows_profile) json["profile"] = profile_as_json(*beside.profile, beside.profile_by);
  write_json(json);
}

}  // namespace

int run(const RunOptions& options) {
  if (!options.outputs.empty()) tensor_io::format_of(options.outputs);
  check_place_of(options.outputs);
  check_place_of(options.trace);
  Progress progress("compiling " + options.model.path);
  const Program program = Program::load(options.model.path, options.compile, options.model.name);
  const std::vector<Tensor> inputs = make_inputs(program, options);
  progress.show("running");
  Findings found;
  const PeakMemory memory;
  const std::vector<Tensor> results = program.run(inputs);
  found.peak_bytes = memory.grown();
  if (found.peak_bytes)
    *found.peak_bytes = std::max<std::int64_t>(0, *found.peak_bytes - bytes_of(results));
  found.working_bytes = program.arena_bytes(inputs);
  const auto outputs = name_outputs(program, results);
  if (!options.outputs.empty()) tensor_io::write(options.outputs, outputs);
  repeat_runs(program, inputs, options, found);
  if (!options.trace.empty()) found.profile->save_trace(options.trace);
  progress.clear();
  (options.json ? print_json : print_text)(outputs, found);
  return kDone;
}

}  // namespace unfuse::cli
