#include "cli/random_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <numbers>
#include <optional>
#include <random>

#include "cli/describe.h"
#include "cli/elements.h"
#include "cli/numbers.h"
#include "tensor_io/files.h"
#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

std::string list_symbols(const SymbolRanges& symbols) {
  std::vector<std::string> names;
  for (const auto& [name, range] : symbols) names.push_back(name);
  if (names.empty()) return "the model has no symbolic sizes";
  return fmt::format("the model's symbolic sizes are: {}", fmt::join(names, ", "));
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint = "") {
  throw Error(ErrorKind::kInvalidArgument, message, "--size", hint);
}

struct Setting {
  std::string symbol;
  std::string value;
};

// "s0=128"
Setting parse_setting(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse("'" + setting + "' is not of the form NAME=SIZE");
  }
  return {setting.substr(0, equals), setting.substr(equals + 1)};
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

/// As Program::inputs() wants a symbolic int.
Tensor int_tensor(std::int64_t value) {
  Tensor tensor = Tensor::empty(DType::kInt64, {});
  *tensor.data_as<std::int64_t>() = value;
  return tensor;
}

const std::string& name_of(const GraphInput& input) {
  return input.target.empty() ? input.value->name() : input.target;
}

Tensor allocate(const GraphInput& input, const std::vector<std::int64_t>& sizes) {
  const DType dtype = input.value->dtype();
  const std::string where = "input '" + name_of(input) + "'";
  if (!has_numbers(dtype)) {
    throw Error(ErrorKind::kUnsupported,
                "no random numbers of dtype " + std::string(dtype_name(dtype)), where,
                "pass --inputs");
  }
  const std::optional<std::uint64_t> bytes = tensor_io::byte_count(dtype, sizes);
  try {
    if (bytes) return Tensor::empty(dtype, sizes);
  } catch (const std::bad_alloc&) {
  }
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{} takes {}", describe_type(dtype, sizes),
                          bytes ? describe_bytes(static_cast<std::int64_t>(*bytes)) +
                                      ", more memory than there is"
                                : "more bytes than 64 bits can count"),
              where, "choose smaller sizes with --size");
}

void fill(const Tensor& tensor, Random& random) {
  const DType number = number_type(tensor.dtype());
  const bool real = is_floating_point(number);
  const std::size_t count = static_cast<std::size_t>(tensor.numel()) * numbers_in(tensor.dtype());
  auto* element = tensor.data_as<std::byte>();
  for (std::size_t i = 0; i < count; ++i, element += dtype_size(number)) {
    write_number(element, number, real ? random.normal() : static_cast<double>(random.coin()));
  }
}

std::vector<std::int64_t> concrete_sizes(const Value& value, const SymbolValues& sizes) {
  std::vector<std::int64_t> concrete;
  for (const Dim& size : value.sizes()) concrete.push_back(size.evaluate(sizes));
  return concrete;
}

using MakeTensor = std::function<Tensor(const GraphInput&, std::vector<std::int64_t>)>;

std::vector<Tensor> make_inputs(const Graph& graph, const SymbolValues& sizes,
                                const MakeTensor& make_tensor) {
  std::vector<Tensor> tensors;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind != InputKind::kUser) continue;
    const auto* integer = std::get_if<IntType>(&input.value->type());
    tensors.push_back(integer != nullptr ? int_tensor(integer->value.evaluate(sizes))
                                         : make_tensor(input, concrete_sizes(*input.value, sizes)));
  }
  return tensors;
}

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
      refuse("there is no symbolic size '" + name + "'", list_symbols(symbols));
    }
    values[name] = parse_whole(value, symbol->second, "--size " + name);
  }
  return values;
}

std::vector<Tensor> random_inputs(const Graph& graph, const SymbolValues& sizes,
                                  std::uint64_t seed) {
  Random random(seed);
  return make_inputs(graph, sizes,
                     [&](const GraphInput& input, const std::vector<std::int64_t>& concrete) {
                       Tensor tensor = allocate(input, concrete);
                       fill(tensor, random);
                       return tensor;
                     });
}

std::vector<Tensor> inputs_without_memory(const Graph& graph, const SymbolValues& sizes) {
  return make_inputs(graph, sizes, [](const GraphInput& input, std::vector<std::int64_t> concrete) {
    auto strides = contiguous_strides(concrete);
    return Tensor::view(nullptr, input.value->dtype(), std::move(concrete), std::move(strides));
  });
}

}  // namespace unfuse::cli
