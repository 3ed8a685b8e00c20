#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/model_summary.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "ir/print.h"
#include "passes/pipeline.h"
#include "targets/cpu/target.h"
#include "targets/partition.h"

namespace unfuse::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string describe_range(const Range& range) {
  if (range.maximum == INT64_MAX) return fmt::format("{} or more", range.minimum);
  return fmt::format("{} to {}", range.minimum, range.maximum);
}

void print_parameters(const char* title, const std::vector<Parameter>& parameters) {
  write_out(fmt::format("\n{}\n", title));
  Table table;
  for (const Parameter& parameter : parameters) table.add({parameter.name, parameter.type});
  write_out(table.text(2));
}

void print_symbols(const ModelSummary& summary) {
  if (summary.symbols.empty()) return;
  write_out("\nsymbolic sizes\n");
  Table table;
  for (const auto& [name, range] : summary.symbols) table.add({name, describe_range(range)});
  write_out(table.text(2));
}

void print_ops(const ModelSummary& summary) {
  std::vector<std::pair<std::string, std::int64_t>> ops(summary.ops.begin(), summary.ops.end());
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& left, const auto& right) { return left.second > right.second; });
  std::int64_t total = 0;
  Table table;
  for (const auto& [name, count] : ops) {
    table.add({fmt::format("{:4}", count), name});
    total += count;
  }
  write_out(fmt::format("\nops: {} nodes\n{}", total, table.text(2)));
}

/// Of the fused ops in the file; opening one may make another.
std::int64_t count_opened(const ModelSummary& summary) {
  std::map<std::string, std::int64_t> left = summary.report.opened;
  return std::count_if(summary.fused.begin(), summary.fused.end(),
                       [&](const FusedOp& fused) { return left[fused.op]-- > 0; });
}

void print_fused(const ModelSummary& summary) {
  if (summary.fused.empty()) return;
  Table table;
  for (const FusedOp& fused : summary.fused) {
    table.add({fused.op, describe_place(fused.module_path, fused.source)});
  }
  const std::size_t count = summary.fused.size();
  const auto opened = static_cast<std::size_t>(count_opened(summary));
  write_out(fmt::format("\nfused ops in the file: {}, {} opened\n{}", count,
                        opened == count ? "all" : std::to_string(opened), table.text(2)));
}

void print_report(const Report& report) {
  write_out(fmt::format("\non the CPU target: {} partition{}, {}\n", report.partitions,
                        report.partitions == 1 ? "" : "s",
                        report.left_to_torch.empty() ? "nothing left to torch" : "left to torch:"));
  Table table;
  for (const LeftOp& left : report.left_to_torch) {
    table.add({fmt::format("{:4}", left.count), left.op,
               describe_place(left.module_path, left.source), left.reason});
  }
  write_out(table.text(2));
  for (const std::string& note : report.notes) write_out(fmt::format("note: {}\n", note));
}

void print_costs(const ModelSummary& summary) {
  const std::string at = summary.sizes.empty() ? "" : " at " + describe_symbols(summary.sizes);
  write_out(fmt::format("\ncosts{}\n", at));
  Table table;
  const bool symbolic = !summary.sizes.empty() && summary.flops > 0;
  table.add({"arithmetic", describe_flops(summary.flops),
             symbolic ? "FLOP = " + summary.flops_formula : ""});
  table.add({"weights", describe_bytes(summary.weight_bytes)});
  table.add({"inputs", describe_bytes(summary.input_bytes)});
  table.add({"outputs", describe_bytes(summary.output_bytes)});
  table.add({"working memory", summary.arena_bytes ? describe_bytes(*summary.arena_bytes)
                                                   : "unknown: the model cannot run here"});
  write_out(table.text(2));
}

void print_text(const std::string& path, const ModelSummary& summary) {
  write_out(
      fmt::format("{}: exported by torch {}\n", path,
                  summary.torch_version.empty() ? "of unknown version" : summary.torch_version));
  print_parameters("inputs", summary.inputs);
  print_parameters("outputs", summary.outputs);
  if (!summary.mutations.empty()) {
    write_out(fmt::format("\nwrites to\n  {}\n", fmt::join(summary.mutations, "\n  ")));
  }
  print_symbols(summary);
  print_ops(summary);
  print_fused(summary);
  print_report(summary.report);
  print_costs(summary);
}

Json parameters_as_json(const std::vector<Parameter>& parameters) {
  Json json = Json::array();
  for (const Parameter& parameter : parameters) {
    json.push_back({{"name", parameter.name}, {"type", parameter.type}});
  }
  return json;
}

void print_json(const ModelSummary& summary) {
  Json json = report_as_json(summary.report);
  json["torch_version"] = summary.torch_version;
  json["inputs"] = parameters_as_json(summary.inputs);
  json["outputs"] = parameters_as_json(summary.outputs);
  json["mutations"] = summary.mutations;
  json["ops"] = summary.ops;
  json["fused"] = Json::array();
  for (const FusedOp& fused : summary.fused) {
    json["fused"].push_back(
        {{"op", fused.op}, {"module_path", fused.module_path}, {"source", fused.source}});
  }
  json["symbols"] = Json::object();
  for (const auto& [name, range] : summary.symbols) {
    json["symbols"][name] = {{"minimum", range.minimum}, {"maximum", nullptr}};
    if (range.maximum != INT64_MAX) json["symbols"][name]["maximum"] = range.maximum;
  }
  json["sizes"] = summary.sizes;
  json["flops"] = summary.flops;
  json["flops_formula"] = summary.flops_formula;
  json["memory"] = {{"weights", summary.weight_bytes},
                    {"inputs", summary.input_bytes},
                    {"outputs", summary.output_bytes},
                    {"arena", summary.arena_bytes ? Json(*summary.arena_bytes) : Json()}};
  write_json(json);
}

int print_graph(const InspectOptions& options) {
  pt2::ExportedProgram program = pt2::read(options.model.path, options.model.name);
  if (options.graph == "opened") {
    Report report;
    passes::run_pipeline(program.graph, {}, report);
    partition(program.graph, cpu::CpuTarget(), report);
  }
  PrintOptions print_options;
  print_options.origins = true;
  write_out(print(program.graph, print_options));
  return kDone;
}

}  // namespace

int inspect(const InspectOptions& options) {
  if (!options.graph.empty()) return print_graph(options);
  Progress progress("inspecting " + options.model.path);
  const ModelSummary summary = summarize(options.model, options.sizes);
  progress.clear();
  options.json ? print_json(summary) : print_text(options.model.path, summary);
  return kDone;
}

}  // namespace unfuse::cli
