#include "pt2/signature_export.h"

#include <algorithm>
#include <unordered_map>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::ordered_json;

std::string name_in(const ordered_json& argument) {
  const ordered_json& held = argument.begin().value();
  if (!held.is_object()) return "";
  const auto found = held.find(held.contains("as_name") ? "as_name" : "name");
  return found == held.end() ? "" : found->get<std::string>();
}

bool is_call_argument(const ordered_json& spec) {
  return spec.contains("user_input") || spec.contains("constant_input");
}

const char* target_key(OutputKind kind) {
  switch (kind) {
    case OutputKind::kBufferMutation:
      return "buffer_name";
    case OutputKind::kParameterMutation:
      return "parameter_name";
    case OutputKind::kUserInputMutation:
      return "user_input_name";
    case OutputKind::kUser:
      break;
  }
  return "";
}

const char* spec_key(OutputKind kind) {
  switch (kind) {
    case OutputKind::kBufferMutation:
      return "buffer_mutation";
    case OutputKind::kParameterMutation:
      return "parameter_mutation";
    case OutputKind::kUserInputMutation:
      return "user_input_mutation";
    case OutputKind::kUser:
      break;
  }
  return "user_output";
}

// What a recorded mutation writes to.
std::string spec_target(const ordered_json& spec) {
  for (const auto& [key, value] : spec.begin().value().items()) {
    if (key.ends_with("_name")) return value.get<std::string>();
  }
  return "";
}

}  // namespace

SignatureExporter::SignatureExporter(const Graph& graph, const RecordedJson& graph_module,
                                     SymbolTable& symbols)
    : graph_(graph), module_(graph_module), symbols_(symbols) {}

void SignatureExporter::export_inputs(LevelExporter& exporter) {
  std::unordered_map<std::string, const GraphInput*> ours;
  for (const GraphInput& input : graph_.inputs()) {
    if (input.value != nullptr) ours[input.value->name()] = &input;
  }
  const RecordedJson graph = module_.at("graph");
  const RecordedJson inputs = graph.at("inputs");
  const RecordedJson specs = module_.at("signature").at("input_specs");
  const ValueTypes types(graph.read, symbols_);
  bool at_call = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ordered_json& argument = *inputs.at(i).text;
    const std::string name = name_in(argument);
    const auto found = ours.find(name);
    std::optional<Meaning> meaning;
    if (argument.contains("as_sym_int")) {
      meaning = types.sym_int(inputs.read.at(i).at("as_sym_int").at("as_name"));
    } else if (found != ours.end()) {
      meaning = found->second->value;
    }
    exporter.define_input(name, meaning);
    if (found != ours.end()) {
      if (found->second->kind == InputKind::kUser) user_names_[found->second->target] = name;
      ours.erase(found);
    }
  }
  // Constants that passes made stand before the arguments of the call.
  const auto add_new = [&] {
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value == nullptr || !ours.contains(input.value->name())) continue;
      if (input.kind != InputKind::kConstant || !input.data.defined()) {
        throw Error(ErrorKind::kInternal,
                    "the input '" + input.value->name() + "' is new, and no constant");
      }
      const std::string name = exporter.add_input(input.value);
      inputs_.push_back({{"as_tensor", {{"name", name}}}});
      ordered_json constant = ordered_json::object();
      constant["arg"] = {{"name", name}};
      constant["tensor_constant_name"] = input.target;
      ordered_json spec = ordered_json::object();
      spec["tensor_constant"] = std::move(constant);
      input_specs_.push_back(std::move(spec));
      new_constants_.push_back(&input);
    }
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!at_call && is_call_argument(*specs.at(i).text)) {
      at_call = true;
      add_new();
    }
    inputs_.push_back(*inputs.at(i).text);
    input_specs_.push_back(*specs.at(i).text);
  }
  if (!at_call) add_new();
}

ordered_json SignatureExporter::output_spec(const GraphOutput& output,
                                            const ordered_json& argument) const {
  ordered_json held = ordered_json::object();
  if (output.kind == OutputKind::kUser) {
    held["arg"] = argument;
  } else {
    held["arg"] = {{"name", name_in(argument)}};
    const bool user = output.kind == OutputKind::kUserInputMutation;
    held[target_key(output.kind)] = user ? user_names_.at(output.target) : output.target;
  }
  ordered_json spec = ordered_json::object();
  spec[spec_key(output.kind)] = std::move(held);
  return spec;
}

void SignatureExporter::export_outputs(LevelExporter& exporter) {
  const RecordedJson outputs = module_.at("graph").at("outputs");
  const RecordedJson specs = module_.at("signature").at("output_specs");
  // Recorded outputs by what they are: the user's in their order, mutations by their target.
  std::vector<std::size_t> user;
  std::map<std::string, std::size_t> mutations;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ordered_json& spec = *specs.at(i).text;
    const std::string kind = spec.begin().key();
    if (kind == "token") {
      outputs_.push_back(*outputs.at(i).text);
      output_specs_.push_back(spec);
    } else if (kind == "user_output" || kind == "loss_output") {
      user.push_back(i);
    } else {
      mutations[kind + " " + spec_target(spec)] = i;
    }
  }
  // torch takes the first results for mutations.
  std::vector<const GraphOutput*> ordered;
  for (const GraphOutput& output : graph_.outputs()) ordered.push_back(&output);
  std::stable_partition(ordered.begin(), ordered.end(), [](const GraphOutput* output) {
    return output->kind != OutputKind::kUser;
  });
  std::size_t next_user = 0;
  for (const GraphOutput* ours : ordered) {
    const GraphOutput& output = *ours;
    std::optional<std::size_t> place;
    if (output.kind == OutputKind::kUser) {
      if (next_user < user.size()) place = user[next_user++];
    } else {
      const bool by_user = output.kind == OutputKind::kUserInputMutation;
      const std::string target = by_user ? user_names_.at(output.target) : output.target;
      const auto found = mutations.find(spec_key(output.kind) + (" " + target));
      if (found != mutations.end()) place = found->second;
    }
    std::optional<RecordedJson> recorded;
    if (place) recorded = outputs.at(*place);
    const ordered_json argument = exporter.result(output.value, recorded ? &*recorded : nullptr);
    outputs_.push_back(argument);
    const bool same = recorded && argument == *recorded->text;
    output_specs_.push_back(same ? *specs.at(*place).text : output_spec(output, argument));
  }
}

ordered_json SignatureExporter::signature() const {
  ordered_json written = *module_.text->find("signature");
  written["input_specs"] = input_specs_;
  written["output_specs"] = output_specs_;
  return written;
}

}  // namespace unfuse::pt2
