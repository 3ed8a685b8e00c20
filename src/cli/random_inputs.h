// Inputs by chance, of the sizes that one asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pt2/exported_program.h"

namespace unfuse::cli {

/// The values of all symbolic sizes: what `settings` ("s0=128") say, else the size that the model
/// was exported with where the file tells, else the smallest allowed, but 1 at least.
/// Throws Error (kInvalidArgument) for an unknown symbol, or a value out of its range.
SymbolValues choose_sizes(const pt2::ExportedProgram& program,
                          const std::vector<std::string>& settings);

/// The values that a caller passes tensors for, in the order of the call.
std::vector<const Value*> tensor_inputs(const Graph& graph);

/// The sizes of a value as integers.
std::vector<std::int64_t> concrete_sizes(const Value& value, const SymbolValues& sizes);

/// In the order of tensor_inputs(). Floats are normally distributed; integers are 0 or 1, which is
/// an index into anything and a mask; bools are true or false. The same seed gives the same inputs.
std::vector<Tensor> random_inputs(const Graph& graph, const SymbolValues& sizes,
                                  std::uint64_t seed);

}  // namespace unfuse::cli
