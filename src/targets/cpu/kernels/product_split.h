// How the rows and the panels of a product are shared out among threads.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/panel_pack.h"

namespace unfuse::cpu {

struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

/// How many of `threads` so many multiply-adds are worth.
int useful_threads(std::int64_t multiply_adds, int threads);

/// A grid of parts, each some rows times some panels.
class ProductSplit {
 public:
  /// At most `threads` parts, nearly equal, that together read as little as may be; fewer where the
  /// work is not worth a thread. `panel_cost` is what an element of a panel costs a part, beside
  /// the arithmetic, in elements of the input: more than 1 if each part packs its panels itself.
  ProductSplit(std::int64_t rows, const PanelLayout& layout, Products products, int threads,
               std::int64_t panel_cost);

  /// The same for the first of the rows: as many parts, of which some may be empty.
  ProductSplit of_rows(std::int64_t rows) const;

  std::int64_t parts() const { return row_parts_ * panel_parts_; }
  IndexRange rows_of(std::int64_t part) const;
  IndexRange panels_of(std::int64_t part) const;
  /// Rows that go by one panel before the next one is read: enough for that to pay, few enough to
  /// stay in the second-level cache meanwhile.
  std::int64_t rows_at_once() const { return rows_at_once_; }

 private:
  std::int64_t rows_;
  std::int64_t panels_;
  std::int64_t row_parts_ = 1;
  std::int64_t panel_parts_ = 1;
  std::int64_t rows_at_once_;
};

}  // namespace unfuse::cpu
