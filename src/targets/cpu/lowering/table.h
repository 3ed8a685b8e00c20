// The CPU target's table: how each op runs, in a file a family, mirroring src/ops.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/lowering/context.h"

namespace unfuse::cpu {

/// Why a node cannot be lowered; empty when it can.
using Refusal = std::optional<std::string>;

/// A constant operand that a kernel wants in its own layout. Made when the graph is compiled;
/// `pack` runs once for each set of parameters, never for new sizes of the inputs.
struct PackRequest {
  const Value* constant = nullptr;
  /// Equal keys on the same constant share one packed form.
  std::string key;
  std::function<PackedPtr(const OperandSpec& spec, const void* data, int threads)> pack;
};

struct LoweringRow {
  const char* op;
  /// Called after the checks that hold for every op (see CpuTarget::refusal).
  Refusal (*accepts)(const Node& node);
  void (*lower)(const Node& node, LoweringContext& context);
  /// `is_prepared` tells of an operand that depends on parameters alone. May be null.
  std::optional<PackRequest> (*pack)(
      const Node& node, const std::function<bool(const Value*)>& is_prepared) = nullptr;
};

/// Null when the CPU target does not have the op.
const LoweringRow* find_lowering(OpId id);

/// Every row, by op name.
std::span<const LoweringRow> lowering_rows();

}  // namespace unfuse::cpu
