// What a mask says of rows, through whatever turned and shaped it.
#pragma once

#include <optional>

#include "ir/builder.h"
#include "targets/cpu/fusion/row_layout.h"

namespace unfuse::cpu {

/// One bool a row: whether `root`, which holds one element a row in the order [batch, length], is
/// not zero; or the contrary. Or, of a root that is added to scores, whether the key has any
/// weight: not where so much is taken off that its weight is zero beside any key of which little
/// is. All keys have some in a sequence without such a key.
struct RowPredicate {
  Value* root = nullptr;
  bool is_negated = false;
  bool is_added = false;

  RowPredicate negated() const { return {root, !is_negated, is_added}; }
  bool operator==(const RowPredicate&) const = default;

  /// As a bool tensor [batch, length]; `placed` stands for the root.
  Value* build(Builder& builder, Value* placed, const RowSizes& rows) const;
};

/// Whether `mask` is not zero. Empty where it says more than one thing of some row.
std::optional<RowPredicate> row_predicate(Value* mask, const RowLayout& layout,
                                          const RowSizes& rows);

/// Which keys have weight under a mask that is added to their scores; empty as above.
std::optional<RowPredicate> weight_predicate(Value* mask, const RowLayout& layout,
                                             const RowSizes& rows);

/// Whether the first shows to be true for every row that the second is true for.
bool is_implied(const RowPredicate& predicate, const RowPredicate& by, const RowSizes& rows);

}  // namespace unfuse::cpu
