// Softmax, for the lowerings that need one within.
#pragma once

#include "onnx/lowering/context.h"

namespace unfuse::onnx {

/// Softmax of scores of at least one dimension, along `axis`.
Operand softmax(LoweringContext& context, Operand scores, std::int64_t axis);

/// `values`, but `otherwise` in rows of `scores` that hold minus infinity and nothing else.
Operand where_any_score(LoweringContext& context, Operand scores, std::int64_t axis, Operand values,
                        double otherwise);

}  // namespace unfuse::onnx
