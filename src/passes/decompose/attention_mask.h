// Masks: what the fused ops read in them, as unfuse.attention takes it.
#pragma once

#include "ir/builder.h"

namespace unfuse::passes {

/// A mask as unfuse.attention takes it: bool (true = attend) or float (added to the scores), null
/// for none, broadcastable to [..., H, L, S]; and whether row l attends keys s <= l only.
struct AttentionMask {
  Value* mask = nullptr;
  bool is_causal = false;
};

/// Where a mask of any dtype is not zero, as a bool tensor of the same sizes. Sees through masks
/// that a module made of bool ones, such as zeros with -inf filled in; `exact` tells whether
/// every element is then known to be 0 or -inf.
struct NonzeroMask {
  Value* nonzero = nullptr;
  bool exact = false;
};
NonzeroMask nonzero_of(Builder& builder, Value* mask);

/// The mask of an op that adds it. A float mask that was made of a bool one, 0 where true and -inf
/// elsewhere, becomes that; causal masks become the flag. What may be added besides stays.
AttentionMask read_added_mask(Builder& builder, Value* mask);

/// A bool mask, true where a key is attended; a causal one becomes the flag.
AttentionMask read_attended(Builder& builder, Value* attended);

/// aten.logical_not.default, or the operand of one.
Value* negate(Builder& builder, Value* value);

}  // namespace unfuse::passes
