// Which results of a node share storage with its first argument.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "passes/views.h"

namespace unfuse::passes {

struct Aliasing {
  Answer shares = Answer::kNo;
  ViewStep step;  ///< how, when `shares` is kYes or kUnknown
};

/// By the schema's alias marks; for reshape, contiguous, to and their like by the recorded strides
/// and dtypes, as eager decides.
Aliasing aliasing_of(const Node& node, int result, const SymbolRanges& symbols);

/// Whether the recorded strides put several elements in one place, as expand does.
bool overlaps(const TensorType& type);

/// Whether a tensor of these sizes and strides can be viewed with `wanted` sizes without copying.
Answer can_be_viewed(const TensorType& type, const std::vector<Dim>& wanted,
                     const SymbolRanges& symbols);

}  // namespace unfuse::passes
