// What a target is: something that says which nodes it takes, and compiles graphs of those.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace unfuse {

/// Answers per node by a look-up in a table of its own, `OpId -> {accepts, lower}`.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;
  /// Whether there is anything at all for this op here. What a target does not have is given to it
  /// in its core form, where there is one.
  virtual bool has(const Op& op) const = 0;
  /// Why this node cannot run here ("the CPU target has no aten.fft_rfft.default", "float64 is not
  /// supported by aten.convolution.default"); empty when it can.
  virtual std::optional<std::string> refusal(const Node& node) const = 0;
};

}  // namespace unfuse
