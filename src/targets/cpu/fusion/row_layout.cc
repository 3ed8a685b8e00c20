#include "targets/cpu/fusion/row_layout.h"

#include <algorithm>

namespace unfuse::cpu {

RowLayout RowLayout::with_rows_at(const std::vector<Dim>& sizes, std::int64_t batch,
                                  std::int64_t length) {
  RowLayout layout;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(sizes.size()); ++dim) {
    const Kind kind = dim == batch ? Kind::kBatch : dim == length ? Kind::kLength : Kind::kOther;
    layout.dims_.emplace_back();
    append(layout.dims_.back(), {kind, sizes[static_cast<std::size_t>(dim)]});
  }
  return layout;
}

/// What a row holds is one factor wherever it stands together.
void RowLayout::append(Factors& factors, Factor factor) {
  if (factor.size == Dim(1)) return;
  const bool merges =
      !factors.empty() && factors.back().kind == Kind::kOther && factor.kind == Kind::kOther;
  if (merges) {
    factors.back().size *= factor.size;
  } else {
    factors.push_back(std::move(factor));
  }
}

RowLayout::Factors RowLayout::flattened() const {
  Factors all;
  for (const Factors& factors : dims_) {
    for (const Factor& factor : factors) append(all, factor);
  }
  return all;
}

std::size_t RowLayout::row_factors(const RowSizes& rows) {
  return (rows.batch == Dim(1) ? 0U : 1U) + (rows.length == Dim(1) ? 0U : 1U);
}

bool RowLayout::is_free(std::int64_t dim) const {
  const Factors& factors = dims_.at(static_cast<std::size_t>(dim));
  return std::all_of(factors.begin(), factors.end(),
                     [](const Factor& factor) { return factor.kind == Kind::kOther; });
}

bool RowLayout::is_free() const {
  for (std::int64_t dim = 0; dim < rank(); ++dim) {
    if (!is_free(dim)) return false;
  }
  return true;
}

bool RowLayout::has_all_rows(const RowSizes& rows) const {
  const Factors all = flattened();
  const auto found = std::count_if(
      all.begin(), all.end(), [](const Factor& factor) { return factor.kind != Kind::kOther; });
  return static_cast<std::size_t>(found) == row_factors(rows);
}

bool RowLayout::is_leading(const RowSizes& rows) const {
  Factors expected;
  append(expected, {Kind::kBatch, rows.batch});
  append(expected, {Kind::kLength, rows.length});
  const Factors all = flattened();
  return all.size() >= expected.size() && std::equal(expected.begin(), expected.end(), all.begin());
}

bool RowLayout::is_rows_only(const RowSizes& rows) const {
  return is_leading(rows) && flattened().size() == row_factors(rows);
}

/// Takes factors from the front whose product is `size`, splitting one that a row holds.
std::optional<RowLayout::Factors> RowLayout::take(Factors& rest, const Dim& size) {
  Factors taken;
  Dim product(1);
  while (product != size) {
    if (rest.empty()) return std::nullopt;
    Factor& next = rest.front();
    const Dim with_next = product * next.size;
    if (with_next == size || size.exact_quotient(with_next)) {
      append(taken, next);
      product = with_next;
      rest.erase(rest.begin());
      continue;
    }
    const std::optional<Dim> wanted = size.exact_quotient(product);
    if (!wanted || next.kind != Kind::kOther) return std::nullopt;
    const std::optional<Dim> left = next.size.exact_quotient(*wanted);
    if (!left) return std::nullopt;
    append(taken, {Kind::kOther, *wanted});
    next.size = *left;
    product = size;
  }
  return taken;
}

std::optional<RowLayout> RowLayout::reshaped(const std::vector<Dim>& sizes) const {
  Factors rest = flattened();
  RowLayout made;
  for (const Dim& size : sizes) {
    if (size == Dim(0)) return std::nullopt;
    std::optional<Factors> taken = take(rest, size);
    if (!taken) return std::nullopt;
    made.dims_.push_back(std::move(*taken));
  }
  if (!rest.empty()) return std::nullopt;
  return made;
}

RowLayout RowLayout::unpermuted(const std::vector<std::int64_t>& order) const {
  RowLayout made = *this;
  for (std::size_t i = 0; i < order.size(); ++i) {
    made.dims_.at(static_cast<std::size_t>(order[i])) = dims_.at(i);
  }
  return made;
}

RowLayout RowLayout::with_dim(std::int64_t dim, const Dim& size) const {
  RowLayout made = *this;
  made.dims_.insert(made.dims_.begin() + dim, Factors());
  return made.with_free_size(dim, size);
}

RowLayout RowLayout::with_free_size(std::int64_t dim, const Dim& size) const {
  RowLayout made = *this;
  Factors& factors = made.dims_.at(static_cast<std::size_t>(dim));
  factors.clear();
  append(factors, {Kind::kOther, size});
  return made;
}

std::optional<RowLayout> RowLayout::of_operand(const std::vector<Dim>& operand,
                                               const std::vector<Dim>& result,
                                               const RowSizes& rows) const {
  if (operand.size() > result.size() || result.size() != dims_.size()) return std::nullopt;
  const std::size_t missing = result.size() - operand.size();
  RowLayout made;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] == result[i + missing]) {
      made.dims_.push_back(dims_[i + missing]);
    } else if (operand[i] == Dim(1)) {
      made.dims_.emplace_back();
    } else {
      return std::nullopt;
    }
  }
  if (!made.is_free() && !made.has_all_rows(rows)) return std::nullopt;
  return made;
}

}  // namespace unfuse::cpu
