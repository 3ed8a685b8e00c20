// Op: what a node does. The graph holds pointers to these; it knows none by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/schema.h"
#include "ir/type.h"

namespace unfuse {

class Node;

/// Dense index into the catalogue; kOpaqueOp for an op that the catalogue lacks.
using OpId = std::int32_t;
inline constexpr OpId kOpaqueOp = -1;

/// What a schema cannot say.
struct Traits {
  /// Each element of the result depends on the elements at the same (broadcast) place only.
  bool pointwise = false;
  /// May return a view of its input or a copy, as strides decide: reshape, contiguous, to.
  bool maybe_view = false;
  /// Gives other results each time: never folded, never merged.
  bool random = false;
  /// Reads its tensor arguments' sizes, dtype and device, never their elements: zeros_like.
  bool reads_metadata_only = false;
  /// Opened by passes/decompose; no target takes it.
  bool fused = false;
};

/// Result types of a call, by the arguments in schema order; a list result is flattened.
/// Strides are those that eager gives for views, and contiguous ones (in eager's dimension order
/// for pointwise ops) otherwise. Throws Error: kInvalidArgument when the arguments do not fit,
/// kUnsupported when they do not tell (sizes that depend on elements).
using ResultTypeRule = std::vector<Type> (*)(const Arguments& arguments);

struct Op {
  OpId id = kOpaqueOp;
  std::string name;  ///< "aten.add.Tensor", "unfuse.attention"
  Schema schema;
  Traits traits;
  ResultTypeRule result_types = nullptr;  ///< null: no pass may build it

  bool opaque() const { return id == kOpaqueOp; }
};

}  // namespace unfuse
