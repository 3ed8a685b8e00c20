// How each op is said in ONNX: a row an op, in files that mirror src/ops.
#pragma once

#include <span>

#include "ir/graph.h"
#include "onnx/lowering/context.h"

namespace unfuse::onnx {

struct LoweringRow {
  const char* op;
  /// Emits nodes and defines every result that is used. Throws Refusal where this call of the op
  /// cannot be said in ONNX, or not in the wanted opset.
  void (*lower)(const Node& node, LoweringContext& context);
};

/// Null when there is no ONNX form of the op.
const LoweringRow* find_lowering(OpId id);

/// Every row, by op name.
std::span<const LoweringRow> lowering_rows();

}  // namespace unfuse::onnx
