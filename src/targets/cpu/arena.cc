#include "targets/cpu/arena.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kArenaAlignment); }

bool alive_together(const ArenaInterval& left, const ArenaInterval& right) {
  return left.first <= right.last && right.first <= left.last;
}

}  // namespace

std::int64_t assign_arena(std::span<ArenaInterval> intervals) {
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return intervals[left].bytes > intervals[right].bytes;
  });

  std::vector<const ArenaInterval*> placed;  // sorted by offset
  std::int64_t total = 0;
  for (std::size_t index : order) {
    ArenaInterval& interval = intervals[index];
    interval.offset = 0;
    if (interval.bytes == 0) continue;
    for (const ArenaInterval* other : placed) {
      if (!alive_together(interval, *other)) continue;
      if (interval.offset + interval.bytes <= other->offset) break;
      interval.offset = std::max(interval.offset, aligned(other->offset + other->bytes));
    }
    const auto place = std::upper_bound(
        placed.begin(), placed.end(), interval.offset,
        [](std::int64_t offset, const ArenaInterval* other) { return offset < other->offset; });
    placed.insert(place, &interval);
    total = std::max(total, aligned(interval.offset + interval.bytes));
  }
  return total;
}

}  // namespace unfuse::cpu
