#include "cli/model_summary.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "cli/describe.h"
#include "cli/random_inputs.h"
#include "ops/flops.h"
#include "passes/pipeline.h"
#include "program/padded_rows.h"
#include "targets/cpu/target.h"
#include "targets/partition.h"
#include "unfuse/error.h"
#include "unfuse/program.h"

namespace unfuse::cli {
namespace {

std::string describe(const TensorType& type) {
  std::string sizes;
  for (const Dim& size : type.sizes) sizes += (sizes.empty() ? "" : ", ") + size.to_string();
  return fmt::format("{}[{}]", dtype_name(type.dtype), sizes);
}

std::string describe(const Value& value) {
  if (value.is_tensor()) return describe(value.tensor());
  if (const auto* symbol = std::get_if<IntType>(&value.type())) {
    return "int " + symbol->value.to_string();
  }
  return to_string(value.type());
}

void describe_inputs(const Graph& graph, ModelSummary& summary) {
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kUser) {
      const std::string& name = input.target.empty() ? input.value->name() : input.target;
      summary.inputs.push_back({name, describe(*input.value)});
    } else if (input.kind == InputKind::kLiteral) {
      summary.inputs.push_back({input.target, input.literal.to_string()});
    }
  }
}

void describe_outputs(const Graph& graph, ModelSummary& summary) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::kUser) continue;
    if (output.value.is_value()) {
      const Value& value = *output.value.value();
      summary.outputs.push_back({value.name(), describe(value)});
    } else {
      summary.outputs.push_back({"", output.value.to_string()});
    }
  }
}

// Known once the graph is functional: before, a mutation is a node like any other.
void describe_mutations(const Graph& graph, ModelSummary& summary) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kUser) continue;
    const char* kind = output.kind == OutputKind::kUserInputMutation ? "input"
                       : output.kind == OutputKind::kBufferMutation  ? "buffer"
                                                                     : "parameter";
    summary.mutations.push_back(fmt::format("{} '{}'", kind, output.target));
  }
}

void count_ops(const Graph& graph, ModelSummary& summary) {
  for (const Node* node : graph.nodes()) {
    ++summary.ops[node->op().name];
    if (!node->op().traits.fused) continue;
    summary.fused.push_back({node->op().name, node->origin().module_path, node->origin().source});
  }
}

std::int64_t bytes_of(const Value& value, const SymbolValues& sizes) {
  const Dim bytes =
      value.tensor().numel() * Dim(static_cast<std::int64_t>(dtype_size(value.dtype())));
  return bytes.evaluate(sizes);
}

void measure_memory(const Graph& graph, ModelSummary& summary) {
  std::set<const void*> counted;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr || !input.value->is_tensor()) continue;
    const std::int64_t bytes = bytes_of(*input.value, summary.sizes);
    if (input.kind == InputKind::kUser) {
      summary.input_bytes += bytes;
    } else if (!input.data.defined() || counted.insert(input.data.data()).second) {
      summary.weight_bytes += bytes;
    }
  }
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::kUser || !output.value.is_value()) continue;
    const Value& value = *output.value.value();
    if (value.is_tensor()) summary.output_bytes += bytes_of(value, summary.sizes);
  }
}

// Planning reads sizes only: no input needs to be in memory.
std::int64_t measure_arena(const ModelFile& model, const Graph& graph, const SymbolValues& sizes) {
  return Program::load(model.path, {}, model.name).arena_bytes(inputs_without_memory(graph, sizes));
}

/// Errors say which sizes it was that something cannot be computed for.
void at_sizes(const SymbolValues& sizes, const std::function<void()>& compute) {
  try {
    compute();
  } catch (const Error& error) {
    if (sizes.empty()) throw;
    throw Error(error.kind(), error.message(), "at " + describe_symbols(sizes), error.hint());
  }
}

}  // namespace

ModelSummary summarize(const ModelFile& model, const std::vector<std::string>& settings) {
  pt2::ExportedProgram program = pt2::read(model.path, model.name);
  Graph& graph = program.graph;
  ModelSummary summary;
  summary.torch_version = program.torch_version;
  summary.symbols = graph.symbols;
  summary.sizes = choose_sizes(program, settings);
  describe_inputs(graph, summary);
  describe_outputs(graph, summary);
  count_ops(graph, summary);
  at_sizes(summary.sizes, [&] { measure_memory(graph, summary); });

  summary.report.graphs = 1;
  summary.report.notes = padded_rows_notes(program);
  passes::run_pipeline(graph, {}, summary.report);
  describe_mutations(graph, summary);
  partition(graph, cpu::CpuTarget(), summary.report);
  const Dim flops = ops::flops(graph);
  summary.flops_formula = flops.to_string();
  at_sizes(summary.sizes, [&] { summary.flops = flops.evaluate(summary.sizes); });
  if (summary.report.left_to_torch.empty()) {
    summary.arena_bytes = measure_arena(model, graph, summary.sizes);
  }
  return summary;
}

}  // namespace unfuse::cli
