// Where the rows of a value are: which dimensions count sequences and which count tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace unfuse::cpu {

/// Of the value that the rows come from: [batch, length, ...].
struct RowSizes {
  Dim batch;
  Dim length;
  bool operator==(const RowSizes&) const = default;
};

/// Each dimension as the product of what it counts, the slowest first; sizes of 1 count nothing.
class RowLayout {
 public:
  /// Dimensions `batch` and `length` count the rows, the others what a row holds.
  static RowLayout with_rows_at(const std::vector<Dim>& sizes, std::int64_t batch,
                                std::int64_t length);

  std::int64_t rank() const { return static_cast<std::int64_t>(dims_.size()); }
  /// Whether the dimension counts nothing but what a row holds.
  bool is_free(std::int64_t dim) const;
  /// Whether all do: the value has nothing to do with rows.
  bool is_free() const;
  /// Whether every row has its own elements.
  bool has_all_rows(const RowSizes& rows) const;
  /// Whether these are [batch, length, what a row holds] in row-major order.
  bool is_leading(const RowSizes& rows) const;
  /// Whether a row holds one element.
  bool is_rows_only(const RowSizes& rows) const;

  /// The same elements in row-major order under other sizes; empty where a size mixes parts.
  std::optional<RowLayout> reshaped(const std::vector<Dim>& sizes) const;
  /// `order[i]` is the dimension here that was dimension i.
  RowLayout unpermuted(const std::vector<std::int64_t>& order) const;
  RowLayout with_dim(std::int64_t dim, const Dim& size) const;        ///< put in at `dim`
  RowLayout with_free_size(std::int64_t dim, const Dim& size) const;  ///< in place of a free one

  /// Of an operand that is broadcast to this layout, `result` its sizes; empty where just one of
  /// the two that count rows is broadcast.
  std::optional<RowLayout> of_operand(const std::vector<Dim>& operand,
                                      const std::vector<Dim>& result, const RowSizes& rows) const;

  bool operator==(const RowLayout&) const = default;

 private:
  enum class Kind { kBatch, kLength, kOther };
  struct Factor {
    Kind kind = Kind::kOther;
    Dim size;
    bool operator==(const Factor&) const = default;
  };
  using Factors = std::vector<Factor>;

  static void append(Factors& factors, Factor factor);
  static std::optional<Factors> take(Factors& rest, const Dim& size);
  Factors flattened() const;
  static std::size_t row_factors(const RowSizes& rows);

  std::vector<Factors> dims_;
};

}  // namespace unfuse::cpu
