// Views: how a result of a view op is read from, and written back to, the tensor it views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace unfuse::passes {

/// One step from a tensor to a view of it, in terms of the canonical dialect.
struct ViewStep {
  enum class Kind {
    kIdentity,
    kReshape,
    kPermute,
    kExpand,
    kSlice,
    kSelect,
    kDiagonal,
    kUnfold,
    kBits,   ///< the bits read as another dtype of the same size
    kOther,  ///< as_strided and the like, or an op that is not in the catalogue: only replayed
  };

  Kind kind = Kind::kIdentity;
  std::vector<Dim> sizes;  ///< kReshape, kExpand: of the result
  std::vector<std::int64_t>
      order;                      ///< kPermute; kDiagonal: offset, dim1, dim2; kUnfold: size, step
  std::int64_t dimension = 0;     ///< kSlice, kSelect, kUnfold
  Dim start, end, step = 1;       ///< kSlice; kSelect: start is the index
  DType dtype = DType::kFloat32;  ///< kBits
  const Node* node = nullptr;     ///< kOther: the call, whose first tensor is replaced
  int result = 0;                 ///< kOther: which result of it

  /// The view of `base`.
  Value* apply(Builder& builder, Value* base) const;
  /// Whether write() can. An expand can where every element of the view is written, the same to
  /// those of one place.
  bool writable() const;
  bool keeps_all_elements() const;
  /// `base` with the elements that the view shows replaced by `written`, of the view's sizes.
  Value* write(Builder& builder, Value* base, Value* written) const;
  /// "aten.expand.default": what to call the step in a message.
  std::string name() const;
};

/// How result `result` of `node` shows the node's first argument, whether or not it shares storage
/// with it; ops that copy (aten.view_copy, aten.clone) have steps too. Empty for an op that
/// computes, and where a symbolic index cannot be resolved.
std::optional<ViewStep> view_step(const Node& node, int result, const SymbolRanges& symbols);

/// The value whose elements `value` shows through views of the canonical dialect, and ops marked as
/// aliasing: where torch runs them, both lie in one place. The value itself when it is no view.
Value* viewed_base(Value* value);

/// Of broadcast_tensors and meshgrid, whose results are views of one operand each: the views, one a
/// result. Empty for other ops.
std::vector<Value*> views_of_several(Builder& builder, const Node& node);

/// The ops that view_step() knows.
std::vector<std::string_view> view_op_names();

}  // namespace unfuse::passes
