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

/// What Program::run() takes: tensors, and symbolic ints as their values in `sizes`. Floats are
/// normally distributed; integers are 0 or 1, which is an index into anything and a mask; bools are
/// true or false. The same seed gives the same inputs. Throws Error (kUnsupported) naming the input
/// that is too large for this machine, or of a dtype without numbers.
std::vector<Tensor> random_inputs(const Graph& graph, const SymbolValues& sizes,
                                  std::uint64_t seed);

/// The same without elements, to plan with.
std::vector<Tensor> inputs_without_memory(const Graph& graph, const SymbolValues& sizes);

}  // namespace unfuse::cli
