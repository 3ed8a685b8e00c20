#include "pt2/origin.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace unfuse::pt2 {
namespace {

constexpr std::string_view kNoModule = "_empty_nn_module_stack_from_metadata_hook";

// Splits at commas outside of brackets, as keys like "L['self'].layers[slice(0, 2)]" hold some.
std::vector<std::string_view> split_fields(std::string_view entry) {
  std::vector<std::string_view> fields;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    if (entry[i] == '(' || entry[i] == '[') ++depth;
    if (entry[i] == ')' || entry[i] == ']') --depth;
    if (entry[i] != ',' || depth != 0) continue;
    fields.push_back(entry.substr(start, i - start));
    start = i + 1;
  }
  fields.push_back(entry.substr(start));
  return fields;
}

// "L['self'].encoder.layers[0]" -> "encoder.layers.0"; newer versions write "encoder.layers.0".
std::string plain_path(std::string_view path) {
  for (const std::string_view root : {"L['self']", "L__self__"}) {
    if (path.starts_with(root)) path.remove_prefix(root.size());
  }
  std::string plain;
  for (const char character : path) {
    if (character == '\'' || character == '"' || character == ']') continue;
    plain += character == '[' ? '.' : character;
  }
  if (plain.starts_with('.')) plain.erase(0, 1);
  // "layer@1" is the second call of "layer".
  return plain.substr(0, plain.find('@'));
}

bool is_torch_or_generated(std::string_view file) {
  return file.empty() || file.front() == '<' || file.starts_with("torch/") ||
         file.find("site-packages/torch/") != std::string_view::npos ||
         file.find("dist-packages/torch/") != std::string_view::npos;
}

// "model.py:41" of `  File "/home/me/model.py", line 41, in forward`; empty for other lines and for
// frames that are not the user's.
std::string user_frame(std::string_view line) {
  constexpr std::string_view kStart = "File \"";
  constexpr std::string_view kMiddle = "\", line ";
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t middle = line.find(kMiddle);
  if (!line.starts_with(kStart) || middle == std::string_view::npos) return "";
  const std::string_view file = line.substr(kStart.size(), middle - kStart.size());
  if (is_torch_or_generated(file)) return "";
  const std::string_view rest = line.substr(middle + kMiddle.size());
  const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
  const std::string_view name = file.substr(file.find_last_of("/\\") + 1);
  return std::string(name) + ":" + std::string(number);
}

}  // namespace

std::string module_path(const std::string& nn_module_stack) {
  const std::string_view stack = nn_module_stack;
  const std::size_t last = stack.rfind(';');
  const std::string_view entry = last == std::string_view::npos ? stack : stack.substr(last + 1);
  const std::vector<std::string_view> fields = split_fields(entry);
  if (fields.size() < 2 || fields[1] == kNoModule) return "";
  return plain_path(fields[1]);
}

void collect_modules(const std::string& nn_module_stack,
                     std::map<std::string, std::string>& classes) {
  std::string_view rest = nn_module_stack;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::vector<std::string_view> fields = split_fields(rest.substr(0, end));
    if (fields.size() == 3 && fields[1] != kNoModule) {
      classes.emplace(plain_path(fields[1]), fields[2]);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::string user_source(const std::string& stack_trace) {
  const std::string_view trace = stack_trace;
  std::string source;
  std::size_t start = 0;
  while (start < trace.size()) {
    const std::size_t end = std::min(trace.find('\n', start), trace.size());
    const std::string frame = user_frame(trace.substr(start, end - start));
    if (!frame.empty()) source = frame;
    start = end + 1;
  }
  return source;
}

Origin read_origin(const Json& metadata) {
  Origin origin;
  if (const auto stack = metadata.find("nn_module_stack"); stack && stack->is_string()) {
    origin.module_path = module_path(stack->string());
  }
  if (const auto trace = metadata.find("stack_trace"); trace && trace->is_string()) {
    origin.source = user_source(trace->string());
  }
  return origin;
}

}  // namespace unfuse::pt2
