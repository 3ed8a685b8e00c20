// What the evaluations of single ops share: their operands, and walking over elements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "passes/fold/evaluate.h"

namespace unfuse::passes {

/// A node whose result is wanted.
struct Call {
  const Node& node;
  const ConstantOf& constant_of;

  /// Argument `index` as a constant, a number included; empty when it is not known.
  std::optional<Constant> operand(int index) const;
  /// Of the result's dtype and sizes, without elements yet.
  Constant result() const;
};

using Evaluated = std::optional<Constant>;
using Evaluate = Evaluated (*)(const Call& call);

struct EvaluateRow {
  std::string_view op;
  Evaluate evaluate;
};

std::span<const EvaluateRow> pointwise_evaluations();
std::span<const EvaluateRow> creation_and_move_evaluations();

/// The sizes as numbers, when there are no more elements than are folded.
std::optional<std::vector<std::int64_t>> small_sizes(const std::vector<Dim>& sizes);
std::int64_t count_of(const std::vector<std::int64_t>& sizes);

/// Strides with which a contiguous tensor of `sizes` is read as one of the sizes `to`.
std::vector<std::int64_t> broadcast_strides(const std::vector<std::int64_t>& sizes,
                                            const std::vector<std::int64_t>& to);

/// False when the element does not fit the dtype of `made`.
bool append_from(Constant& made, const Constant& from, std::size_t index);

/// Row-major indices of a result, one after the other, and where they are in tensors of other
/// strides.
class Walk {
 public:
  explicit Walk(std::vector<std::int64_t> sizes);
  const std::vector<std::int64_t>& at() const { return at_; }
  void step();
  std::int64_t offset(const std::vector<std::int64_t>& strides) const;

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> at_;
};

}  // namespace unfuse::passes
