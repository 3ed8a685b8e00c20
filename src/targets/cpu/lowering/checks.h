// Questions that several families ask in their accepts functions.
#pragma once

#include <initializer_list>
#include <string_view>

#include "targets/cpu/lowering/table.h"

namespace unfuse::cpu {

/// Takes everything that the general checks let through.
inline Refusal accept_all(const Node&) { return std::nullopt; }

/// For ops that the target's own passes make, after nodes were asked about: from elsewhere they are
/// not taken.
inline Refusal refuse_from_outside(const Node&) {
  return "it is an op of the CPU target's own passes";
}

/// The kernel computes in float32: refuses a node whose floating operands or results are wider, and
/// one that computes on integers.
Refusal accept_float32(const Node& node);

/// Refuses unless the argument has its default value.
Refusal require_default(const Node& node, std::string_view argument);

/// A constant of one element for each of `count` columns or channels, contiguous. Throws Error
/// (kInvalidArgument) when it has another number of elements.
View row_operand(LoweringContext& context, const Value* value, std::int64_t count);

/// The first refusal there is.
Refusal first_refusal(std::initializer_list<Refusal> refusals);

/// float32, float16 or bfloat16: what is computed in float32.
bool computes_in_float32(DType dtype);

}  // namespace unfuse::cpu
