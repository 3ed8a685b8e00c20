#include "ir/print.h"

namespace unfuse {
namespace {

const char* output_kind_name(OutputKind kind) {
  switch (kind) {
    case OutputKind::kUser:
      return "user";
    case OutputKind::kBufferMutation:
      return "buffer mutation";
    case OutputKind::kUserInputMutation:
      return "input mutation";
    case OutputKind::kParameterMutation:
      return "parameter mutation";
  }
  return "unknown";
}

void print_input(std::string& text, const GraphInput& input, const PrintOptions& options) {
  text += std::string("input ") + input_kind_name(input.kind) + " ";
  if (input.kind == InputKind::kLiteral) {
    text += input.target + " = " + input.literal.to_string() + "\n";
    return;
  }
  text += "%" + input.value->name();
  if (options.types) text += ": " + to_string(input.value->type());
  if (!input.target.empty() && input.target != input.value->name()) text += " from " + input.target;
  text += "\n";
}

void print_output(std::string& text, const GraphOutput& output) {
  text += std::string("output ") + output_kind_name(output.kind) + " " + output.value.to_string();
  if (!output.target.empty()) text += " to " + output.target;
  text += "\n";
}

std::string arguments_text(const Node& node) {
  const auto& declared = node.op().schema.arguments;
  std::string text;
  bool skipped = false;
  for (std::size_t i = 0; i < node.arguments().size(); ++i) {
    const Argument& argument = node.arguments()[i];
    const bool known = i < declared.size();
    if (known && declared[i].has_default && argument == declared[i].default_value) {
      skipped = true;
      continue;
    }
    if (!text.empty()) text += ", ";
    const bool named = known && (skipped || declared[i].keyword_only);
    if (named) text += declared[i].name + "=";
    text += argument.to_string();
  }
  return text;
}

void print_node(std::string& text, const Node& node, const PrintOptions& options) {
  bool first = true;
  for (const Value* result : node.results()) {
    if (!first) text += ", ";
    first = false;
    text += "%" + result->name();
    if (options.types) text += ": " + to_string(result->type());
  }
  if (!node.results().empty()) text += " = ";
  text += node.op().name + "(" + arguments_text(node) + ")";
  if (options.origins) {
    const Origin& origin = node.origin();
    if (!origin.module_path.empty()) text += "  # " + origin.module_path;
    if (!origin.source.empty()) text += "  (" + origin.source + ")";
  }
  text += "\n";
}

void print_symbols(std::string& text, const SymbolRanges& symbols) {
  for (const auto& [name, range] : symbols) {
    text += "symbol " + name + " in [" + std::to_string(range.minimum) + ", ";
    text += range.maximum == INT64_MAX ? "inf" : std::to_string(range.maximum);
    text += "]\n";
  }
}

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  std::string text;
  print_symbols(text, graph.symbols);
  for (const GraphInput& input : graph.inputs()) print_input(text, input, options);
  for (const Node* node : graph.nodes()) print_node(text, *node, options);
  for (const GraphOutput& output : graph.outputs()) print_output(text, output);
  return text;
}

}  // namespace unfuse
