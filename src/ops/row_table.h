// Tables with a row an op, found by the op's id.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "ops/catalogue.h"
#include "unfuse/error.h"

namespace unfuse::ops {

/// `Row::op` is the op's name.
template <typename Row>
class RowTable {
 public:
  /// Throws Error (kInternal) naming an op that is unknown or has two rows.
  explicit RowTable(std::vector<Row> rows) : rows_(std::move(rows)) {
    std::sort(rows_.begin(), rows_.end(), [](const Row& left, const Row& right) {
      return std::string_view(left.op) < right.op;
    });
    by_id_.resize(catalogue().size(), nullptr);
    for (const Row& row : rows_) {
      const Row*& place = by_id_[static_cast<std::size_t>(get(row.op).id)];
      if (place != nullptr) throw Error(ErrorKind::kInternal, "two rows for one op", row.op);
      place = &row;
    }
  }
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  /// Null when the op has no row.
  const Row* find(OpId id) const { return id < 0 ? nullptr : by_id_[static_cast<std::size_t>(id)]; }
  /// By op name.
  std::span<const Row> rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::vector<const Row*> by_id_;
};

}  // namespace unfuse::ops
