// Checking what a caller passes against a graph's inputs, and finding the symbols' values in it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "targets/cpu/executable.h"

namespace unfuse::cpu {

/// The kUser inputs of a graph, ready to be matched with values. Immutable.
class InputBinding {
 public:
  /// Throws Error (kUnsupported) for an input that is neither tensor nor int, or when a symbol that
  /// some value of the graph uses cannot be found in any input's sizes.
  explicit InputBinding(const Graph& graph);

  std::size_t input_count() const { return inputs_.size(); }

  /// The value of every symbol. Checks count, kind, dtype, rank, every size, and the symbols'
  /// ranges; throws Error (kInvalidArgument) naming the input that does not fit.
  SymbolValues bind(std::span<const InputValue> values) const;

 private:
  struct Input {
    std::string name;
    bool is_tensor = true;
    TensorType type;  ///< is_tensor
    Dim value;        ///< else
  };
  /// Where a symbol is read: size `dimension` of an input (or its value, when that is an int) is
  /// coefficient * symbol + a constant.
  struct Source {
    std::string symbol;
    std::size_t input = 0;
    std::size_t dimension = 0;
    Dim expression;
    std::int64_t coefficient = 1;
    std::int64_t offset = 0;
  };

  void find_sources();
  void check_symbols_of(const Graph& graph) const;
  void check_kinds(std::span<const InputValue> values) const;
  void check_sizes(std::span<const InputValue> values, const SymbolValues& symbols) const;
  const Source* source_of(const std::string& symbol) const;
  std::string describe(const Dim& dim) const;

  std::vector<Input> inputs_;
  std::vector<Source> sources_;  ///< one a symbol
  SymbolRanges ranges_;
};

}  // namespace unfuse::cpu
