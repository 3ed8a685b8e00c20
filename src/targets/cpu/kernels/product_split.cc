#include "targets/cpu/kernels/product_split.h"

#include <algorithm>
#include <limits>

#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

IndexRange part_of(std::int64_t count, std::int64_t parts, std::int64_t index) {
  return {count * index / parts, count * (index + 1) / parts};
}

/// Blocks of equal size that do not overflow the cache. Tiles multiply so fast that what they wait
/// for are the panels: they read them for more rows.
std::int64_t choose_rows_at_once(std::int64_t rows, const PanelLayout& layout, Products products) {
  const bool on_tiles = are_on_tiles(products);
  const std::int64_t elements = std::int64_t{1} << (on_tiles ? 18 : 17);  // 1 MB or 512 KB
  const std::int64_t most =
      std::clamp<std::int64_t>(elements / layout.depth(), 48, on_tiles ? 512 : 192);
  const std::int64_t block = divide_up(rows, divide_up(rows, most));
  return round_up(block, layout.functions().rows);
}

}  // namespace

int useful_threads(std::int64_t multiply_adds, int threads) {
  constexpr std::int64_t kOfThread = 1 << 16;
  return static_cast<int>(std::clamp<std::int64_t>(multiply_adds / kOfThread, 1, threads));
}

ProductSplit::ProductSplit(std::int64_t rows, const PanelLayout& layout, Products products,
                           int threads, std::int64_t panel_cost)
    : rows_(rows), panels_(layout.panels()) {
  // A multiply-add is cheaper than the read of an element from an outer cache by about so much.
  constexpr std::int64_t kReadCost = 8;
  const std::int64_t width = divide_up(layout.columns(), panels_);
  const std::int64_t work = rows * layout.columns() * layout.depth();
  const std::int64_t most = useful_threads(work, threads);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t row_parts = 1; row_parts <= std::min(most, rows); ++row_parts) {
    const std::int64_t panel_parts = std::min(most / row_parts, panels_);
    const std::int64_t part_rows = divide_up(rows, row_parts);
    const std::int64_t part_columns = divide_up(panels_, panel_parts) * width;
    const std::int64_t rows_at_once = choose_rows_at_once(part_rows, layout, products);
    const std::int64_t passes = divide_up(part_rows, rows_at_once);
    const std::int64_t reads = part_rows + part_columns * passes * panel_cost;
    const std::int64_t cost = part_rows * part_columns + kReadCost * reads;
    if (cost >= best) continue;
    best = cost;
    row_parts_ = row_parts;
    panel_parts_ = panel_parts;
    rows_at_once_ = rows_at_once;
  }
}

ProductSplit ProductSplit::of_rows(std::int64_t rows) const {
  ProductSplit split = *this;
  split.rows_ = rows;
  return split;
}

IndexRange ProductSplit::rows_of(std::int64_t part) const {
  return part_of(rows_, row_parts_, part / panel_parts_);
}

IndexRange ProductSplit::panels_of(std::int64_t part) const {
  return part_of(panels_, panel_parts_, part % panel_parts_);
}

}  // namespace unfuse::cpu
