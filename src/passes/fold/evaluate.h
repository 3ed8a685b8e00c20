// What an op gives for constants, bit for bit as torch's CPU kernels do.
#pragma once

#include <functional>
#include <optional>

#include "passes/fold/constant.h"

namespace unfuse::passes {

/// The constant that a value is; null when it is none.
using ConstantOf = std::function<const Constant*(const Value*)>;

/// The one result of `node`, in the canonical dialect. Empty when an operand is no constant, the op
/// is not one that is folded, or the result would be too large.
std::optional<Constant> evaluate(const Node& node, const ConstantOf& constant_of);

}  // namespace unfuse::passes
