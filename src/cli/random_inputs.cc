#include "cli/random_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <random>

#include "cli/elements.h"
#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

std::string describe_symbols(const SymbolRanges& symbols) {
  std::vector<std::string> names;
  for (const auto& [name, range] : symbols) names.push_back(name);
  if (names.empty()) return "the model has no symbolic sizes";
  return fmt::format("the model's symbolic sizes are: {}", fmt::join(names, ", "));
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint = "") {
  throw Error(ErrorKind::kInvalidArgument, message, "--size", hint);
}

// "s0=128"
std::pair<std::string, std::int64_t> parse_setting(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  std::int64_t value = 0;
  if (equals != std::string::npos && equals > 0) {
    const char* end = setting.data() + setting.size();
    const auto parsed = std::from_chars(setting.data() + equals + 1, end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end) return {setting.substr(0, equals), value};
  }
  refuse("'" + setting + "' is not of the form NAME=SIZE");
}

// The standard library's distributions differ between implementations; this one does not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  bool coin() { return (engine_() >> 63) != 0; }
  double normal() {
    // Box and Muller; the first uniform number is never 0.
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53; }

  std::mt19937_64 engine_;
};

}  // namespace

SymbolValues choose_sizes(const pt2::ExportedProgram& program,
                          const std::vector<std::string>& settings) {
  const SymbolRanges& symbols = program.graph.symbols;
  SymbolValues values;
  for (const auto& [name, range] : symbols) {
    const auto hint = program.hints.find(name);
    const std::int64_t wanted = hint != program.hints.end() ? hint->second : 1;
    values[name] = std::clamp(wanted, range.minimum, range.maximum);
  }
  for (const std::string& setting : settings) {
    const auto [name, value] = parse_setting(setting);
    const auto symbol = symbols.find(name);
    if (symbol == symbols.end()) {
      refuse("there is no symbolic size '" + name + "'", describe_symbols(symbols));
    }
    const Range range = symbol->second;
    if (value < range.minimum || value > range.maximum) {
      refuse(range.maximum == INT64_MAX
                 ? fmt::format("{} must be at least {}", name, range.minimum)
                 : fmt::format("{} must be {} to {}", name, range.minimum, range.maximum));
    }
    values[name] = value;
  }
  return values;
}

std::vector<const Value*> tensor_inputs(const Graph& graph) {
  std::vector<const Value*> values;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kUser && input.value->is_tensor()) values.push_back(input.value);
  }
  return values;
}

std::vector<std::int64_t> concrete_sizes(const Value& value, const SymbolValues& sizes) {
  std::vector<std::int64_t> concrete;
  for (const Dim& size : value.sizes()) concrete.push_back(size.evaluate(sizes));
  return concrete;
}

std::vector<Tensor> random_inputs(const Graph& graph, const SymbolValues& sizes,
                                  std::uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> tensors;
  for (const Value* value : tensor_inputs(graph)) {
    const Tensor tensor = Tensor::empty(value->dtype(), concrete_sizes(*value, sizes));
    if (!has_numbers(tensor.dtype())) {
      throw Error(ErrorKind::kUnsupported,
                  "no random numbers of dtype " + std::string(dtype_name(tensor.dtype())),
                  "input '" + value->name() + "'", "pass --inputs");
    }
    const DType number = number_type(tensor.dtype());
    const bool real = is_floating_point(number);
    const std::size_t count = static_cast<std::size_t>(tensor.numel()) * numbers_in(tensor.dtype());
    auto* element = tensor.data_as<std::byte>();
    for (std::size_t i = 0; i < count; ++i, element += dtype_size(number)) {
      write_number(element, number, real ? random.normal() : static_cast<double>(random.coin()));
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace unfuse::cli
