// In-place ops as pure ones: what a tensor holds after an op has written to it.
#pragma once

#include <string>

#include "ir/builder.h"

namespace unfuse::passes {

/// The argument that `node` writes to; -1 when it writes to none. Throws Error (kUnsupported) when
/// it writes to several, or to something that is no tensor by itself.
int mutated_argument(const Node& node);

/// The values that the mutated argument holds after `node`, of its dtype and sizes. Throws Error
/// (kUnsupported) naming the node when no pure op is known for it.
Value* pure_result(Builder& builder, const Node& node, int mutated);

}  // namespace unfuse::passes
